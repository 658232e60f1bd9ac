//! How probes make a verdict, decided as early as it is certain. Pure.

use crate::config::ProbePolicy;

/// Counts probes until they decide.
#[derive(Clone, Copy, Debug)]
pub(super) struct Poll {
    policy: ProbePolicy,
    probes: u32,
    healthy: u32,
    unhealthy: u32,
}

impl Poll {
    pub(super) fn new(policy: ProbePolicy, probes: u32) -> Self {
        Self {
            policy,
            probes,
            healthy: 0,
            unhealthy: 0,
        }
    }

    /// Counts one probe; says the verdict once no further probe can change it.
    pub(super) fn count(&mut self, healthy: bool) -> Option<bool> {
        if healthy {
            self.healthy += 1;
        } else {
            self.unhealthy += 1;
        }
        let needed = match self.policy {
            ProbePolicy::All => self.probes,
            ProbePolicy::Majority => self.probes / 2 + 1,
            ProbePolicy::Any => 1,
        };
        if self.healthy >= needed {
            Some(true)
        } else if self.unhealthy > self.probes - needed {
            Some(false)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of these probes are needed, and what they say.
    fn decide(policy: ProbePolicy, answers: &[bool]) -> (usize, bool) {
        let mut poll = Poll::new(policy, u32::try_from(answers.len()).unwrap());
        for (index, &healthy) in answers.iter().enumerate() {
            if let Some(verdict) = poll.count(healthy) {
                return (index + 1, verdict);
            }
        }
        panic!("{policy:?} did not decide over {answers:?}");
    }

    #[test]
    fn any_stops_at_the_first_success() {
        // P130
        assert_eq!(decide(ProbePolicy::Any, &[false, true, false]), (2, true));
        assert_eq!(decide(ProbePolicy::Any, &[false; 3]), (3, false));
    }

    #[test]
    fn all_stops_at_the_first_failure() {
        // P131
        assert_eq!(decide(ProbePolicy::All, &[true, false, true]), (2, false));
        assert_eq!(decide(ProbePolicy::All, &[true; 3]), (3, true));
    }

    #[test]
    fn majority_stops_early_both_ways() {
        // P132
        assert_eq!(
            decide(ProbePolicy::Majority, &[true, true, false]),
            (2, true)
        );
        assert_eq!(
            decide(ProbePolicy::Majority, &[false, false, true]),
            (2, false)
        );
        // Half is no majority.
        assert_eq!(
            decide(ProbePolicy::Majority, &[false, true, false, true]),
            (3, false)
        );
    }
}
