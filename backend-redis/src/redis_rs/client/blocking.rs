//! Blocking commands: on a dedicated socket of the active, for as long as they say.
//!
//! The lease is held all the while, so a drain waits for them up to its window; retiring ends them. They never move to
//! another member after they were sent: a pop whose answer was lost has popped.

use std::time::Duration;

use backend_api::{Lease, Outcome};
use redis::RedisResult;

use super::FailoverConnection;
use super::judge::Failed;
use super::work::Work;
use crate::failures::Socket;
use crate::redis_rs::connection::Connection;
use crate::redis_rs::dedicated;

impl FailoverConnection {
    pub(super) async fn block<W: Work>(
        &mut self,
        work: &W,
        own_time: Option<Duration>,
    ) -> RedisResult<W::Answer> {
        let mut deadline = None;
        loop {
            let lease = self.lease_for(work).await?;
            let failed = match self.block_once(work, own_time, lease).await {
                Ok(answer) => return answer,
                Err(failed) => failed,
            };
            if let Some(answer) = self.settle(work, failed, &mut deadline).await {
                return answer;
            }
        }
    }

    async fn block_once<W: Work>(
        &mut self,
        work: &W,
        own_time: Option<Duration>,
        lease: Lease<Connection>,
    ) -> Result<RedisResult<W::Answer>, Failed<W::Answer>> {
        let margin = lease.connection().operation();
        let revision = lease.connection().line().revision();
        let mut lease = Waiting(Some(lease));
        let mut socket = match lease.connection().dedicated().await {
            Ok(socket) => socket,
            Err(reason) => return Err(self.no_socket(work, lease.done(), reason, revision)),
        };
        let limit = own_time.map(|time| time.saturating_add(margin));
        let answer = dedicated::bounded(limit, work.send(&mut socket.link)).await;
        let lease = lease.done();
        match self.cause_of(work, &answer) {
            None => {
                lease.connection().keep(socket);
                lease.finish(Outcome::Success);
                Ok(answer)
            }
            Some(cause) => {
                Err(self
                    .judge_on(revision)
                    .failed(work, lease, Socket::Dedicated, &cause, answer))
            }
        }
    }
}

/// The lease of something that is meant to take long: given up, it says nothing about the member, however old it is.
struct Waiting(Option<Lease<Connection>>);

impl Waiting {
    fn connection(&self) -> &Connection {
        self.0.as_ref().expect("held until done").connection()
    }

    fn done(&mut self) -> Lease<Connection> {
        self.0.take().expect("held until done")
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(lease) = self.0.take() {
            lease.finish(Outcome::Neutral);
        }
    }
}
