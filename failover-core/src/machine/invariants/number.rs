//! The observer's books as a part of the number of a state: two states are only the same if they are judged alike from
//! here on. Every field of every book is named, so that a new one does not compile before it is thought of.

use super::book::{Book, Excuses, Known, Marked};
use super::{Job, Observer, Seen};
use crate::machine::search::Canon;

impl Observer {
    pub(in crate::machine) fn number(&self, canon: &mut Canon) {
        let Self {
            rules,
            seen,
            jobs,
            active,
            asked,
            servers,
            books,
            suspended,
            forced,
            end,
            drains,
            rounds,
            rest,
            startup,
            started,
            failed,
            closed,
            // What follows is set anew by each step before it is looked at.
            suspended_before: _,
            spared: _,
            passed: _,
            announced: _,
            gone: _,
            opened: _,
            cancelled: _,
        } = self;
        canon.rules(rules);
        canon.bag(seen.iter(), |canon, (generation, seen)| {
            canon.generation(*generation);
            self::seen(canon, seen);
        });
        canon.bag(jobs.iter(), |canon, (op, job)| {
            canon.op(*op);
            self::job(canon, job);
        });
        canon.put(&active.is_some());
        if let Some((id, generation)) = active {
            canon.put(id);
            canon.generation(*generation);
        }
        canon.put(&asked.len());
        for (id, request) in asked {
            canon.request(*id, request);
        }
        canon.put(servers);
        for (id, book) in books {
            canon.put(id);
            self::book(canon, book);
        }
        canon.put(&(suspended, forced, end));
        canon.bag(drains.iter(), |canon, (generation, until)| {
            canon.generation(*generation);
            canon.until(Some(*until));
        });
        // Compared with the machine's own count, which is in the number, and otherwise only with zero.
        canon.put(rounds.min(&canon.rounds()));
        canon.until(*rest);
        canon.until(Some(*startup));
        canon.put(&(started, failed, closed));
    }
}

fn seen(canon: &mut Canon, seen: &Seen) {
    let Seen {
        member,
        kept,
        proven,
        promoted,
        laden,
        retired,
    } = seen;
    canon.put(&(member, kept, promoted, laden, retired));
    canon.proven(*proven);
}

fn job(canon: &mut Canon, job: &Job) {
    let Job {
        work,
        member,
        generation,
        discounted,
        until,
    } = job;
    canon.put(&(work, member, discounted));
    canon.generation(*generation);
    // Only that of a check is ever looked at.
    if *work == super::Work::Check {
        canon.until(Some(*until));
    }
}

fn book(canon: &mut Canon, book: &Book) {
    let Book {
        rules,
        weight,
        health,
        // Set anew by each step.
        health_before: _,
        mark,
        grace,
        streak,
        returned,
        window,
        window_of,
        broken,
        failed,
        refused,
        refused_at,
        excused,
    } = book;
    canon.member_rules(rules);
    canon.put(weight);
    match health {
        Known::Unknown => canon.put(&0),
        Known::Healthy { since } => canon.stable(*since),
        Known::Unhealthy { read_only } => canon.put(&(2, read_only)),
    }
    match mark {
        None => canon.put(&0),
        Some(Marked::Announced { on, until }) => {
            canon.generation(*on);
            canon.until(Some(*until));
        }
        Some(Marked::Operator) => canon.put(&2),
    }
    canon.until(*grace);
    canon.put(streak);
    canon.returned(*returned);
    canon.window(*window_of, window.iter().copied());
    canon.put(&broken.is_some());
    canon.until(*broken);
    canon.put(failed);
    canon.refused(rules, *refused, *refused_at);
    let Excuses { dial, proof, check } = excused;
    canon.put(&(dial, proof, check));
}
