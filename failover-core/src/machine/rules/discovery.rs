//! Members that members tell of: whose word counts, and for what.
//!
//! Servers that lost sight of one another tell different things, and none of them is wrong about what it sees. Taking a
//! member in on a false word costs dials that fail; dropping one may cost the only member that is left. So the word of
//! every open connection brings members in and keeps them, but only the word of the active, which is proven again and
//! again by the traffic that it carries, lets one go. What an old connection said counts for nothing, and neither does
//! the word of a member that is to go itself.
//!
//! Which members were told of, and that a configured one is never touched, is the driver's to know (`driver::discover`).

use backend_api::Generation;

use crate::machine::{Machine, MemberId, Refusal, RequestId};

/// What the word of a connection can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// It brings members in, and keeps them.
    Keeps,
    /// It also lets those go of which nobody tells: it is the active's.
    Decides,
}

impl Machine {
    /// What the word of this connection counts for, if for anything.
    pub fn word(&self, id: MemberId, generation: Generation) -> Option<Word> {
        let member = self.member(id).filter(|member| member.is(generation))?;
        if self.active == Some(id) {
            return Some(Word::Decides);
        }
        let going = member.leaving.is_some() || member.outgoing.is_some();
        (!going).then_some(Word::Keeps)
    }

    /// The connection `by` tells of a member no more: it goes as one that a new configuration leaves out, if that is the
    /// active's word.
    pub(in crate::machine) fn untold(&mut self, request: RequestId, id: MemberId, by: Generation) {
        let active = self.active.and_then(|active| self.member(active));
        let decides = active.is_some_and(|active| active.is(by));
        if decides {
            self.phase_out(request, id, true);
        } else {
            self.refuse(request, Refusal::NotEligible(id));
        }
    }
}
