//! `doubled`: nothing is applied or delivered twice that was not agreed.
//!
//! Writes: `replay = "all"` agrees to it for commands, pipelines, transactions and scripts. A blocking command never runs
//! again, and a stream knows its messages by their ids: both are never doubled.
//!
//! Messages, for each subscription or queue group:
//!
//! - A consumer may hear a message again, since an acknowledgement can be lost.
//! - `AtLeastOnce` without a `dedupe` may hear both connections of a move, except in a queue group.
//! - Pub/sub hears a message once, except on a replicated pair, where both servers have it.
//! - With a `dedupe` a message is known for as long as the settings say ([`bounds::DEDUPED`], [`bounds::DEDUPED_FOR`]).
//!   What comes again after that was agreed.
//! - `carry = "unconfirmed"` publishes again what may have arrived. Then only a header tells, as the message is sent twice.

use super::listeners::{Listener, Marks, listeners};
use super::run::Run;
use super::{Verdict, bounds};
use crate::record::{Carry, Dedupe, Delivery, Heard, Kind, Micros, Replay, Target};

pub(crate) fn check(run: &Run<'_>, verdict: &mut Verdict) {
    writes(run, verdict);
    for listener in listeners(run.record) {
        if let Some(memory) = memory(run, listener.first()) {
            let mut of_one = Verdict::default();
            messages(run, &listener, memory, &mut of_one);
            verdict.add_all(of_one);
        }
    }
}

fn writes(run: &Run<'_>, verdict: &mut Verdict) {
    for (id, operation) in run.operations() {
        let times = run.applied(id);
        let agreed = run.record.replay == Replay::All
            && matches!(
                operation.kind,
                Kind::Write | Kind::Pipeline | Kind::Transaction | Kind::Script
            );
        if times > 1 && !agreed {
            verdict.add(operation.begun, &[id], &[], || {
                let (kind, replay) = (operation.kind, run.record.replay);
                format!("an operation ({kind:?}) was applied {times} times, and the replay policy is {replay:?}")
            });
        }
    }
}

/// For how long a message must be known.
#[derive(Clone, Copy)]
enum Memory {
    Always,
    Messages(u32),
    Time(Micros),
}

/// None where doubles were agreed.
fn memory(run: &Run<'_>, heard: &Heard) -> Option<Memory> {
    let dedupe = match heard.delivery {
        Delivery::Consumer => return None,
        Delivery::PubSub => return (run.record.target != Target::Pair).then_some(Memory::Always),
        Delivery::AtMostOnce => None,
        Delivery::AtLeastOnce { dedupe, .. } | Delivery::Mirrored { dedupe } => Some(dedupe),
    };
    let sent_again = run.record.carry == Carry::Unconfirmed && !heard.steady;
    let queue = heard.queue.is_some();
    match dedupe {
        _ if sent_again && (queue || dedupe != Some(Dedupe::Header)) => None,
        _ if queue => Some(Memory::Always),
        None => Some(Memory::Always),
        Some(Dedupe::None) => None,
        Some(Dedupe::Header) => Some(Memory::Messages(bounds::DEDUPED.value)),
        Some(Dedupe::Content) => Some(Memory::Time(bounds::DEDUPED_FOR.micros())),
    }
}

fn messages(run: &Run<'_>, listener: &Listener<'_>, memory: Memory, verdict: &mut Verdict) {
    // The place after that at which it was last heard, or nothing. Or the time, where that is what counts.
    let mut last: Marks<u32> = Marks::of(run, listener.first());
    let all = listener.parts.iter().flat_map(|part| &part.messages);
    for (place, (at, id)) in (1u32..).zip(all) {
        let now = match memory {
            Memory::Time(_) => at + 1,
            Memory::Always | Memory::Messages(_) => place,
        };
        let Some(last) = last.at(*id) else { continue };
        let known = match memory {
            _ if *last == 0 => false,
            Memory::Always => true,
            Memory::Messages(limit) | Memory::Time(limit) => now.abs_diff(*last) < limit,
        };
        if known {
            verdict.add(*at, &[*id], &[], || {
                let (delivery, queue) = (listener.first().delivery, listener.first().queue);
                let who = queue.map_or("a subscription", |_| "a queue group");
                format!("{who} ({delivery:?}) heard a message twice")
            });
        }
        *last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::super::forge::{Forge, MS, S};
    use super::super::{check, tests::only};
    use crate::record::{Carry, Dedupe, Delivery, Kind, Outcome, Replay, Target};

    const HEADER: Delivery = Delivery::AtLeastOnce {
        dedupe: Dedupe::Header,
        ordered: false,
    };

    /// One message comes again on a subscription like this one.
    fn heard_again(delivery: Delivery) -> Forge {
        let mut forge = Forge::nats();
        let heard = &mut forge.record.heard[0];
        heard.delivery = delivery;
        let (at, id) = heard.messages[10];
        heard.messages.insert(11, (at + 1, id));
        forge
    }

    #[test]
    fn a_write_applied_twice_is_found() {
        for kind in [Kind::Write, Kind::Pipeline, Kind::Transaction, Kind::Script] {
            let mut forge = Forge::redis();
            let id = forge.operation(6 * S, MS, kind, Outcome::Right);
            forge.applied(id, 2);
            only(&check(&forge.record), "doubled", 1);
            forge.record.replay = Replay::All;
            only(&check(&forge.record), "doubled", 0);
        }
    }

    #[test]
    fn no_policy_agrees_to_blocking_commands_and_streams_twice() {
        for kind in [Kind::Blocking, Kind::StreamPublish] {
            let mut forge = Forge::redis();
            forge.record.replay = Replay::All;
            let id = forge.operation(6 * S, MS, kind, Outcome::Right);
            forge.applied(id, 2);
            only(&check(&forge.record), "doubled", 1);
        }
    }

    #[test]
    fn a_message_twice_is_found_where_it_was_not_agreed() {
        let content = Delivery::Mirrored {
            dedupe: Dedupe::Content,
        };
        for delivery in [Delivery::AtMostOnce, HEADER, content, Delivery::PubSub] {
            only(&check(&heard_again(delivery).record), "doubled", 1);
        }
        let mut queue = heard_again(Delivery::AtLeastOnce {
            dedupe: Dedupe::None,
            ordered: false,
        });
        queue.record.heard[0].queue = Some("workers");
        only(&check(&queue.record), "doubled", 1);
    }

    #[test]
    fn a_message_twice_is_fine_where_it_was_agreed() {
        let plain = Delivery::AtLeastOnce {
            dedupe: Dedupe::None,
            ordered: false,
        };
        for delivery in [plain, Delivery::Consumer] {
            only(&check(&heard_again(delivery).record), "doubled", 0);
        }
        let mut pair = heard_again(Delivery::PubSub);
        pair.record.target = Target::Pair;
        only(&check(&pair.record), "doubled", 0);
        let mut again = heard_again(Delivery::AtMostOnce);
        again.record.carry = Carry::Unconfirmed;
        again.record.heard[0].steady = false;
        only(&check(&again.record), "doubled", 0);
        again.record.heard[0].delivery = HEADER;
        only(&check(&again.record), "doubled", 1);
    }

    #[test]
    fn what_is_known_by_its_content_is_known_for_two_seconds() {
        let mut forge = Forge::nats();
        let heard = &mut forge.record.heard[0];
        heard.delivery = Delivery::AtLeastOnce {
            dedupe: Dedupe::Content,
            ordered: false,
        };
        let (at, id) = heard.messages[10];
        heard.messages.push((at + 2 * S, id));
        only(&check(&forge.record), "doubled", 0);
        forge.record.heard[0].messages.last_mut().expect("one").0 -= 1;
        only(&check(&forge.record), "doubled", 1);
    }

    #[test]
    fn a_queue_group_hears_each_message_once_over_all_its_members() {
        let mut forge = Forge::nats();
        let mut other = forge.record.heard[0].clone();
        forge.record.heard[0].queue = Some("workers");
        other.queue = Some("workers");
        other.messages.truncate(3);
        forge.record.heard.push(other);
        only(&check(&forge.record), "doubled", 3);
    }
}
