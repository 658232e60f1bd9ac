//! As much of the protocol as a client needs.

use std::sync::Arc;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{Shared, lock};

/// A subscription of one connection.
pub(super) struct Subscribed {
    pub(super) subject: String,
    sid: String,
    out: UnboundedSender<Vec<u8>>,
}

impl Subscribed {
    pub(super) fn deliver(&self, subject: &str, reply: &str, payload: &str) {
        if self.matches(subject) {
            let (sid, size) = (&self.sid, payload.len());
            let line = if payload.starts_with("NATS/1.0") {
                format!("HMSG {subject} {sid} {reply} {size} {size}")
            } else {
                format!("MSG {subject} {sid} {reply} {size}")
            };
            let _ = self
                .out
                .send(format!("{line}\r\n{payload}\r\n").into_bytes());
        }
    }

    /// That nobody listens where somebody asked.
    fn nobody(&self, subject: &str) {
        self.deliver(subject, "", "NATS/1.0 503\r\n\r\n");
    }

    /// A star at the end is all that clients use for their answers.
    fn matches(&self, subject: &str) -> bool {
        match self.subject.strip_suffix('*') {
            Some(begin) => subject.starts_with(begin),
            None => self.subject == subject,
        }
    }
}

/// Serves one client until it goes, or the server hangs up.
pub(super) async fn serve(socket: TcpStream, shared: Arc<Shared>) {
    let mut mode = shared.mode.subscribe();
    let (out, mut outgoing) = unbounded_channel::<Vec<u8>>();
    let (lame, hung_up) = {
        let now = mode.borrow();
        (now.lame_duck, now.hung_up)
    };
    let info = format!(
        "INFO {{\"server_id\":\"S{0}\",\"server_name\":\"s{0}\",\"version\":\"2.11.0\",\"proto\":1,\"go\":\"\",\
         \"host\":\"127.0.0.1\",\"port\":{1},\"headers\":true,\"max_payload\":1048576,\"client_id\":1,\
         \"client_ip\":\"127.0.0.1\",\"cluster\":\"c{0}\",\"ldm\":{lame}}}\r\n",
        shared.number, shared.port,
    );
    let _ = out.send(info.into_bytes());
    let (read, mut write) = socket.into_split();
    let own = out.clone();
    let reading = async {
        let mut client = Client {
            read: BufReader::new(read),
            shared: shared.clone(),
            out: own,
        };
        while client.command().await.is_ok() {}
    };
    let writing = async {
        while let Some(bytes) = outgoing.recv().await {
            if write.write_all(&bytes).await.is_err() {
                break;
            }
        }
    };
    tokio::select! {
        () = reading => {}
        () = writing => {}
        _ = mode.wait_for(|mode| mode.hung_up != hung_up) => {}
    }
    lock(&shared.subscriptions).retain(|it| !it.out.same_channel(&out));
}

struct Client {
    read: BufReader<tokio::net::tcp::OwnedReadHalf>,
    shared: Arc<Shared>,
    out: UnboundedSender<Vec<u8>>,
}

impl Client {
    async fn command(&mut self) -> std::io::Result<()> {
        self.may_read().await;
        let mut line = String::new();
        if self.read.read_line(&mut line).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        // It was told to stop while it waited for this.
        self.may_read().await;
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["PING"] => {
                let _ = self.out.send(b"PONG\r\n".to_vec());
            }
            ["SUB", subject, .., sid] => lock(&self.shared.subscriptions).push(Subscribed {
                subject: (*subject).to_owned(),
                sid: (*sid).to_owned(),
                out: self.out.clone(),
            }),
            ["UNSUB", sid, ..] => {
                let own = |it: &Subscribed| it.sid == *sid && it.out.same_channel(&self.out);
                lock(&self.shared.subscriptions).retain(|it| !own(it));
            }
            ["PUB", subject, more @ .., size] => {
                let payload = self.payload(size).await?;
                self.published(subject, more.first().copied(), &payload);
            }
            ["HPUB", subject, more @ .., _, size] => {
                let payload = self.payload(size).await?;
                self.published(subject, more.first().copied(), &payload);
            }
            _ => {}
        }
        Ok(())
    }

    async fn may_read(&self) {
        let mut mode = self.shared.mode.subscribe();
        let _ = mode.wait_for(|mode| mode.reads).await;
    }

    async fn payload(&mut self, size: &str) -> std::io::Result<String> {
        let mut payload = vec![0; size.parse::<usize>().unwrap() + 2];
        self.read.read_exact(&mut payload).await?;
        payload.truncate(payload.len() - 2);
        Ok(String::from_utf8_lossy(&payload).into_owned())
    }

    fn published(&self, subject: &str, reply: Option<&str>, payload: &str) {
        // Only how it begins: payloads are large where a test fills a socket.
        let words = payload.split('|').next().unwrap_or_default();
        self.shared.log.note(self.shared.number, subject, words);
        let answers = self.shared.mode.borrow().answers;
        let script = lock(&self.shared.scripts)
            .get(subject)
            .map(|script| script(payload));
        for subscribed in lock(&self.shared.subscriptions).iter() {
            match (reply, &script) {
                (Some(reply), Some(script)) => {
                    for (to, payload) in script {
                        subscribed.deliver(reply, to, payload);
                    }
                }
                (Some(reply), None) if answers => subscribed.nobody(reply),
                (Some(_), None) => {}
                (None, _) => subscribed.deliver(subject, "", payload),
            }
        }
    }
}
