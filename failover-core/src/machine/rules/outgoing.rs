//! Members that are to go as soon as the group can do without them, as a new configuration says: no caller waits for it,
//! nothing is refused, and a group whose members are all exchanged is never without one.
//!
//! Until then such a member serves on, but is chosen only as a last resort. One that carries nothing and has no
//! connection of use goes at once.

use crate::machine::member::Leaving;
use crate::machine::{Answer, Machine, MemberId, Refusal, RequestId};

impl Machine {
    pub(in crate::machine) fn phase_out(&mut self, request: RequestId, id: MemberId, remove: bool) {
        let Some(member) = self.member_mut(id) else {
            self.refuse(request, Refusal::Unknown);
            return;
        };
        member.outgoing = Some(if remove {
            Leaving::Remove
        } else {
            Leaving::Disable
        });
        self.shifting = true;
        if remove {
            self.drop_successor(id);
        }
        self.answer(request, Answer::Done);
    }

    /// Lets those go that the group can do without. Whether there were any.
    pub(in crate::machine) fn settle_outgoing(&mut self) -> bool {
        let others = self.members.iter().any(|member| member.stays());
        let carried = self
            .active
            .and_then(|id| self.member(id))
            .is_some_and(|active| active.stays());
        let going: Vec<MemberId> = self
            .members
            .iter()
            .filter(|member| member.outgoing.is_some() && member.leaving.is_none())
            .filter(|member| !self.is_engaged(member.id))
            .filter(|member| {
                !member.takes_part() || (others && (carried || !self.is_usable(member)))
            })
            .map(|member| member.id)
            .collect();
        let any = !going.is_empty();
        for id in going {
            if let Some(member) = self.member_mut(id) {
                member.leaving = member.outgoing.take().map(|how| (how, None));
            }
        }
        any
    }

    /// It carries the traffic, or is about to, or whoever takes its place is.
    pub(in crate::machine) fn is_engaged(&self, id: MemberId) -> bool {
        let target = self.switch.as_ref().map(|switch| switch.to);
        let replaced = target.and_then(|to| self.member(to)?.replaces);
        self.active == Some(id)
            || self.redial == Some(id)
            || target == Some(id)
            || replaced == Some(id)
    }
}
