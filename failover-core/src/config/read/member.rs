//! `[[member]]`: the engine's keys taken out by hand, the rest read as the backend's settings.
//!
//! Ten thousand members are one file, so nothing here may look at the other members but by hash.

use std::collections::HashMap;

use backend_api::{Backend, Member, MemberName, Weight};

use super::foreign::{EngineKeys, Foreign, fields_of};
use super::group::{GROUP_ONLY, overridable};
use super::secrets::{Secrets, expand};
use super::table::Table;
use super::values::{Value, flag, number, string};
use super::{Outside, report::Report};
use crate::config::check::duplicate;
use crate::config::limits::wrong_name;
use crate::config::place::Scope;
use crate::config::rules::{MemberConfig, MemberRules};

/// The keys of a `[[member]]` that are the engine's. No backend's settings may have a field of one of these names.
pub(super) const ENGINE_KEYS: &[&str] = &[
    "name",
    "weight",
    "enabled",
    "health",
    "breaker",
    "reconnect",
    "timeouts",
];

/// Reads the members one by one.
pub(super) struct Members<'a, B: Backend> {
    report: &'a Report<'a>,
    outside: &'a Outside<'a>,
    /// Where it could be made: without it the settings are read but not validated.
    backend: Option<&'a B>,
    /// The options of a backend may hold secrets too, and its words about settings may repeat them.
    backend_secrets: &'a Secrets,
    checks: Option<&'a [String]>,
    rules: &'a MemberRules,
    /// Names, and the byte where each stands.
    taken: HashMap<MemberName, usize>,
}

impl<'a, B: Backend> Members<'a, B> {
    pub(super) fn new(
        report: &'a Report<'a>,
        outside: &'a Outside<'a>,
        (backend, backend_secrets): (Option<&'a B>, &'a Secrets),
        checks: Option<&'a [String]>,
        rules: &'a MemberRules,
    ) -> Self {
        let fields = fields_of::<B::Settings>().iter();
        for field in fields.filter(|field| ENGINE_KEYS.contains(field)) {
            let message = format!(
                "the backend's setting `{field}` has the name of a key that is the engine's: \
                 the backend has to rename it"
            );
            report.say(None, Scope::Document, "member", &message);
        }
        Self {
            report,
            outside,
            backend,
            backend_secrets,
            checks,
            rules,
            taken: HashMap::new(),
        }
    }

    /// The `number`th member, counted from 1; `None` when errors were reported.
    pub(super) fn read(
        &mut self,
        number: usize,
        value: &mut Value<'_>,
    ) -> Option<MemberConfig<B::Settings>> {
        let before = self.report.count();
        let secrets = Secrets::default();
        let shown = written_name(value);
        let name = shown.as_deref();
        let scope = Scope::Member { number, name };
        let report = self.report;
        expand(value, self.outside.env, &secrets, &mut |at, message| {
            report.say(Some(at), scope, "", message);
        });
        if report.count() != before {
            return None;
        }
        let value = &*value;
        let table = Table::new(report, &secrets, scope, value)?;
        let name = self.name(&table);
        let weight = table.value("weight", |value| {
            number_as_weight(value).map_err(|error| error.message().to_owned())
        });
        let mut enabled = true;
        table.set("enabled", &mut enabled, flag);
        let mut rules = self.rules.clone();
        overridable(&table, &mut rules, self.checks, None);
        let settings = self.settings(&table, scope, &secrets, value);
        let (Some(name), Some(settings)) = (name, settings) else {
            return None;
        };
        let mut member = Member::new(name, settings);
        member.weight = weight.unwrap_or_default();
        (report.count() == before).then_some(MemberConfig {
            member,
            enabled,
            rules,
        })
    }

    fn name(&mut self, table: &Table<'_>) -> Option<MemberName> {
        let Some(value) = table.get("name") else {
            table.wrong(table.at, "", "missing key `name`");
            return None;
        };
        let at = value.span().start;
        let name = table.value("name", string)?;
        if let Some(wrong) = wrong_name(&name) {
            table.wrong(at, "name", wrong);
            return None;
        }
        let name = MemberName::from(name);
        if let Some(first) = self.taken.get(&name) {
            let line = self.report.line(*first);
            let message = duplicate(&name, &format!("the member on line {line}"));
            table.wrong(at, "name", &message);
            return None;
        }
        self.taken.insert(name.clone(), at);
        Some(name)
    }

    fn settings(
        &self,
        table: &Table<'_>,
        scope: Scope<'_>,
        secrets: &Secrets,
        value: &Value<'_>,
    ) -> Option<B::Settings> {
        let report = self.report;
        let engine = EngineKeys {
            here: ENGINE_KEYS,
            group_only: GROUP_ONLY,
        };
        let foreign = Foreign::new(report, secrets, scope, self.outside, engine);
        let settings = foreign.read::<B::Settings>(value)?;
        if let Some(Err(error)) = self.backend.map(|backend| backend.validate(&settings)) {
            let message = self.backend_secrets.strike_out(error.message());
            table.wrong(table.at, "", &message);
            return None;
        }
        Some(settings)
    }
}

fn number_as_weight(value: &toml::de::DeValue<'_>) -> Result<Weight, backend_api::Error> {
    let wrong = |message| backend_api::Error::new(backend_api::ErrorKind::Config, message);
    number(value).map_err(wrong).and_then(Weight::new)
}

/// The name as the file has it, for errors: not where it is made of something that must not be shown.
fn written_name(value: &Value<'_>) -> Option<String> {
    let name = value
        .get_ref()
        .as_table()?
        .get("name")?
        .get_ref()
        .as_str()?;
    (wrong_name(name).is_none() && !name.contains("${")).then(|| name.to_owned())
}
