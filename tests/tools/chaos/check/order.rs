//! `order`: a subscription that promises an order keeps it.
//!
//! `AtMostOnce`, `ordered` and pub/sub promise that the messages of one publisher come in the order in which they were
//! published. Messages may be missing, and what comes a second time is the matter of `doubled`.
//!
//! Where publishers have connections of their own, this holds over every fault. Where they publish through the group, it
//! holds among messages of one and the same connection: what is on its way through one server can be overtaken by what
//! goes through the next one. So there a message counts if it was published at least `silence` and a call's patience
//! before its connection ended, and is compared with those of the same connection.

use super::Verdict;
use super::listeners::Marks;
use super::run::Run;
use crate::record::{Delivery, Heard, Micros, OperationId, Outcome};

pub(crate) fn check(run: &Run<'_>, verdict: &mut Verdict) {
    let ends = connection_ends(run);
    let ordered = run
        .record
        .heard
        .iter()
        .filter(|heard| match heard.delivery {
            Delivery::AtMostOnce
            | Delivery::AtLeastOnce { ordered: true, .. }
            | Delivery::PubSub => true,
            Delivery::AtLeastOnce { .. } | Delivery::Mirrored { .. } | Delivery::Consumer => false,
        });
    for heard in ordered {
        let mut of_one = Verdict::default();
        subscription(run, heard, &ends, &mut of_one);
        verdict.add_all(of_one);
    }
}

/// When the connection through which the group publishes became another one: the traffic moved, or the active's
/// connection ended or came.
fn connection_ends(run: &Run<'_>) -> Vec<Micros> {
    let moves = run.record.moves.iter().map(|step| step.at);
    let links = run.record.links.iter();
    let links = links.filter(|link| run.active(link.at) == Some(link.member));
    let mut ends: Vec<Micros> = moves.chain(links.map(|link| link.at)).collect();
    ends.sort_unstable();
    ends
}

/// The latest message of one publisher.
#[derive(Clone, Copy)]
struct Latest {
    connection: usize,
    id: OperationId,
}

fn subscription(run: &Run<'_>, heard: &Heard, ends: &[Micros], verdict: &mut Verdict) {
    let settled = run.record.silence.saturating_add(run.record.patience);
    let mut latest: Vec<Option<Latest>> = vec![None; heard.from.len()];
    let mut known: Marks<bool> = Marks::of(run, heard);
    for (at, id) in &heard.messages {
        let Some(sent) = run.operation(*id) else {
            continue;
        };
        let Some(known) = known.at(*id) else { continue };
        if std::mem::replace(known, true) || sent.outcome != Outcome::Right {
            continue;
        }
        let connection = match heard.steady {
            true => 0,
            false => {
                let next = ends.partition_point(|end| *end <= sent.begun);
                let end = ends.get(next);
                if end.is_some_and(|end| *end <= sent.begun.saturating_add(settled)) {
                    continue;
                }
                next
            }
        };
        let place = &mut latest[usize::from(id.worker - heard.from.start)];
        match place {
            Some(last) if last.connection == connection && last.id.number > id.number => {
                let after = last.id;
                verdict.add(*at, &[*id, after], &[], || {
                    format!(
                        "a subscription ({:?}) heard message {} of publisher {} after {}",
                        heard.delivery, id.number, id.worker, after.number
                    )
                });
            }
            Some(last) if last.connection > connection => {}
            _ => {
                let id = *id;
                *place = Some(Latest { connection, id });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::forge::{Forge, S};
    use super::super::{check, tests::only};
    use crate::record::{Dedupe, Delivery};

    const ORDERED: Delivery = Delivery::AtLeastOnce {
        dedupe: Dedupe::Header,
        ordered: true,
    };

    /// Two messages of one publisher come the wrong way round.
    fn swapped(delivery: Delivery, steady: bool) -> Forge {
        let mut forge = Forge::nats();
        let heard = &mut forge.record.heard[0];
        heard.delivery = delivery;
        heard.steady = steady;
        let (_, first) = heard.messages.remove(10);
        let mut later = heard.messages[10..].iter();
        let next = 10
            + later
                .position(|(_, id)| id.worker == first.worker)
                .expect("one more");
        // Both have been sent by the later one's time.
        let at = heard.messages[next].0;
        heard.messages.insert(next + 1, (at, first));
        forge
    }

    #[test]
    fn messages_the_wrong_way_round_are_found() {
        for delivery in [Delivery::AtMostOnce, ORDERED, Delivery::PubSub] {
            for steady in [true, false] {
                only(&check(&swapped(delivery, steady).record), "order", 1);
            }
        }
    }

    #[test]
    fn who_promises_no_order_has_none() {
        let plain = Delivery::AtLeastOnce {
            dedupe: Dedupe::Header,
            ordered: false,
        };
        for delivery in [
            plain,
            Delivery::Mirrored {
                dedupe: Dedupe::Header,
            },
        ] {
            only(&check(&swapped(delivery, true).record), "order", 0);
        }
    }

    #[test]
    fn what_goes_through_two_servers_may_overtake() {
        let mut forge = swapped(Delivery::AtMostOnce, false);
        let at = forge.record.heard[0].messages[9].0;
        forge.go(at + S / 2, 1, "manual", false);
        only(&check(&forge.record), "order", 0);
        // Not where the publishers stay where they are.
        forge.record.heard[0].steady = true;
        only(&check(&forge.record), "order", 1);
    }
    #[test]
    fn what_comes_again_is_not_out_of_order() {
        let mut forge = Forge::nats();
        let heard = &mut forge.record.heard[0].messages;
        let (_, again) = heard[10];
        heard.push((19 * S, again));
        only(&check(&forge.record), "doubled", 1);
    }
}
