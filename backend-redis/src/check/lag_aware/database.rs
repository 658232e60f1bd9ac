//! Which of a cluster's databases a member is: its list of databases, read.

use serde::Deserialize;

use crate::address::Address;

#[derive(Deserialize)]
struct Database {
    uid: u64,
    #[serde(default)]
    endpoints: Vec<Endpoint>,
}

#[derive(Deserialize)]
struct Endpoint {
    #[serde(default)]
    dns_name: Option<String>,
    #[serde(default)]
    addr: Vec<String>,
    #[serde(default)]
    port: Option<u16>,
}

impl Endpoint {
    fn is_at(&self, host: &str) -> bool {
        let mut names = self.dns_name.iter().chain(&self.addr);
        names.any(|name| name.trim_end_matches('.').eq_ignore_ascii_case(host))
    }
}

/// The number of the database at `address`: by host and port, or by the host alone where only one is there, since what is in
/// between may map ports. The error follows on the name of the server.
pub(super) fn find(list: &[u8], address: &Address) -> Result<u64, String> {
    let (Address::Tcp(host, port) | Address::Tls(host, port)) = address else {
        return Err(format!("cannot find a database by a path ({address})"));
    };
    let host = host.trim_end_matches('.');
    let databases: Vec<Database> = serde_json::from_slice(list)
        .map_err(|_quotes| "answered with something else than a list of databases".to_owned())?;
    let at = |port: Option<u16>| {
        let fits = move |endpoint: &&Endpoint| {
            endpoint.is_at(host) && (port.is_none() || endpoint.port == port)
        };
        let found = databases.iter();
        found
            .filter(|database| database.endpoints.iter().any(|endpoint| fits(&endpoint)))
            .map(|database| database.uid)
            .collect::<Vec<_>>()
    };
    match (at(Some(*port)).as_slice(), at(None).as_slice()) {
        ([uid], _) | ([], [uid]) => Ok(*uid),
        ([], []) => Err(format!("knows no database at {host}")),
        _ => Err(format!(
            "knows several databases at {host}, and not one at port {port}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"[
        {"uid": 1, "endpoints": [{"dns_name": "redis-1.cluster.example", "addr": ["10.0.0.1"], "port": 12000}]},
        {"uid": 2, "endpoints": [{"dns_name": "redis-2.cluster.example", "addr": ["10.0.0.2"], "port": 12001},
                                 {"dns_name": "redis-2.internal", "addr": ["10.0.0.1"], "port": 12001}]},
        {"uid": 3}]"#;

    // P160
    #[test]
    fn a_database_is_found_by_host_and_port() {
        for (host, port, expected) in [
            ("redis-1.cluster.example", 12000, Ok(1)),
            ("Redis-1.Cluster.Example.", 6379, Ok(1)),
            ("redis-2.internal", 12001, Ok(2)),
            ("10.0.0.1", 12001, Ok(2)),
            ("10.0.0.1", 12000, Ok(1)),
            ("10.0.0.1", 6379, Err("knows several databases")),
            ("10.0.0.9", 12000, Err("knows no database at 10.0.0.9")),
        ] {
            let found = find(LIST.as_bytes(), &Address::Tcp(host.to_owned(), port));
            match (found, expected) {
                (Ok(uid), Ok(expected)) => assert_eq!(uid, expected, "{host}:{port}"),
                (Err(text), Err(expected)) => assert!(text.starts_with(expected), "{text}"),
                (found, _) => panic!("{host}:{port}: {found:?}"),
            }
        }
        let nonsense = find(b"{\"secret\": 1}", &Address::Tcp("h".to_owned(), 1));
        assert!(!nonsense.unwrap_err().contains("secret"));
    }
}
