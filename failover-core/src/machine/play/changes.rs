//! What the script does to the stage.

use super::host::State;
use super::record::Entry;
use super::script::Change;
use super::stage::Stage;
use crate::machine::{Input, MemberId};

impl Stage<'_> {
    pub(super) fn change(&mut self, index: usize) {
        let Some(&(_, change)) = self.case.script.get(index) else {
            return;
        };
        self.note(Entry::Changed(change.told()));
        self.apply(change);
        self.unpark();
    }

    fn apply(&mut self, change: Change) {
        let hosts = &mut self.world.hosts;
        match change {
            Change::Kill(host) => {
                hosts[host].alive = false;
                hosts[host].silent = false;
                hosts[host].lame = false;
                self.reset(host);
            }
            Change::Start(host) => hosts[host].alive = true,
            Change::Freeze(host) => hosts[host].silent = true,
            Change::Thaw(host) => hosts[host].silent = false,
            Change::Reset(host) => self.reset(host),
            Change::Sever(host) => {
                for line in self.world.lines.values_mut() {
                    line.severed |= line.host == host && !line.ended;
                }
            }
            Change::Take(host, ask, way) => hosts[host].take(ask, way),
            Change::Is(host, state) => hosts[host].state = state,
            Change::Endures(host, most) => hosts[host].endurance = most,
            Change::TwoAddresses(host) => hosts[host].take_two_addresses(),
            Change::Strain(host) => hosts[host].strained = true,
            Change::LameDuck(host) => {
                hosts[host].lame = true;
                for (generation, member) in self.world.lines_of(host) {
                    self.signal(Input::LameDuck(MemberId(member), generation));
                }
            }
            Change::Leads(member, host) => self.world.names[member as usize] = host,
            Change::Call(call) => self.call(call),
            Change::Stop(long) => self.stop(long),
        }
    }

    /// All connections to a server end.
    fn reset(&mut self, host: usize) {
        for (generation, _) in self.world.lines_of(host) {
            self.end_line(generation);
        }
    }
}

impl State {
    /// In the words of a timetable.
    pub(super) fn word(self) -> &'static str {
        match self {
            State::Master => "a master",
            State::Replica => "a replica",
            State::Sick => "sick",
        }
    }
}

impl Change {
    /// In the words of a timetable.
    pub(super) fn told(&self) -> String {
        match self {
            Change::Kill(host) => format!("server {host} dies"),
            Change::Start(host) => format!("server {host} starts"),
            Change::Freeze(host) => format!("server {host} falls silent"),
            Change::Thaw(host) => format!("server {host} answers again"),
            Change::Reset(host) => format!("server {host} ends its connections"),
            Change::Sever(host) => format!("the connections to server {host} are half open"),
            Change::Take(host, ask, way) => format!("server {host} takes {ask:?}: {way:?}"),
            Change::Is(host, state) => format!("server {host} is {}", state.word()),
            Change::Endures(host, Some(most)) => {
                format!("server {host} ends connections with their operation {most}")
            }
            Change::Endures(host, None) => format!("server {host} keeps its connections"),
            Change::TwoAddresses(host) => {
                format!("the name of server {host} has two addresses, one of them silent")
            }
            Change::Strain(host) => format!("checks of server {host} fail under traffic"),
            Change::LameDuck(host) => format!("server {host} announces its end"),
            Change::Leads(member, host) => format!("the name of m{member} leads to server {host}"),
            Change::Call(call) => format!("an operator calls {call:?}"),
            Change::Stop(long) => format!("this process stops for {long} ms"),
        }
    }
}
