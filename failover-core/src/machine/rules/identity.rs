//! Two names can be one server: `localhost` and `127.0.0.1`, two records of a name service, a load balancer. A standby on
//! the active's own server dies with it, so it stands in for a standby only while nobody on another server can.
//!
//! What is known is where the last connection of each member ended, if the backend can tell. A member whose connection
//! ended at the active's server is its *twin*. A twin is kept and serves like any other connection, but beside it others
//! are looked for, and when one of them is proven the twin is the first that is too many (`warm`). It is not dialled
//! again as long as anybody else will do: where it led last is remembered until its next connection, also while it has
//! none, or it would be dialled and dropped in turn. With a single server there is nobody else, and a twin stands by.
//!
//! Nothing is kept here that a move of traffic could outdate: who is a twin follows from who is active.

use crate::machine::io::Identity;
use crate::machine::member::Member;
use crate::machine::{Machine, MemberId};

impl Machine {
    /// Its last connection ended where that of the active did; without an active, where that of the last active did.
    pub(in crate::machine) fn is_twin(&self, member: &Member) -> bool {
        let active = || self.active.or(self.last_active.map(|(id, _)| id));
        let shares = |active| active != member.id && member.server == self.server(active);
        // Where nobody can tell, which is most of the time, nobody is looked up.
        member.server.is_some() && active().is_some_and(shares)
    }

    /// It cannot be counted on beside the active, if others can be had.
    pub(in crate::machine) fn is_second_choice(&self, member: &Member) -> bool {
        self.is_twin(member)
    }

    /// It could be a standby, now or after a dial, on another server as far as anybody knows.
    pub(in crate::machine) fn could_stand_apart(&self, member: &Member) -> bool {
        self.active != Some(member.id)
            && member.takes_part()
            && member.mark.is_none()
            && !self.is_twin(member)
    }

    /// Where the last connection of a member ended.
    fn server(&self, id: MemberId) -> Option<Identity> {
        self.member(id)?.server
    }
}
