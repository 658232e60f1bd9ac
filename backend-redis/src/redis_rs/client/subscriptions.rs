//! Where an application begins to listen.

use backend_api::Error;

use super::FailoverConnection;
use crate::subscriptions::{Delivery, Messages};

/// Pub/sub, across switches.
impl FailoverConnection {
    /// The messages of these channels, from whichever member is active. Returns once the active has confirmed it.
    ///
    /// ```
    /// # use backend_api::Error;
    /// # use backend_redis::FailoverConnection;
    /// # async fn listen(connection: FailoverConnection) -> Result<(), Error> {
    /// let mut messages = connection.subscribe(["news"]).await?;
    /// messages.psubscribe(["weather.*"]).await?;
    /// while let Some(message) = messages.next().await {
    ///     println!("{}: {}", message.channel_name(), message.text());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Waits and fails as [`Subscriptions::subscribe`](crate::Subscriptions::subscribe) does; given up or failed, nothing
    /// is left of it. A stream, like every client, keeps its group alive.
    pub async fn subscribe<N: Into<Vec<u8>>>(
        &self,
        channels: impl IntoIterator<Item = N>,
    ) -> Result<Messages, Error> {
        let messages = self.messages(Delivery::default());
        messages.subscribe(channels).await?;
        Ok(messages)
    }

    /// The same for the channels that match a pattern.
    pub async fn psubscribe<N: Into<Vec<u8>>>(
        &self,
        patterns: impl IntoIterator<Item = N>,
    ) -> Result<Messages, Error> {
        let messages = self.messages(Delivery::default());
        messages.psubscribe(patterns).await?;
        Ok(messages)
    }

    /// The same for sharded channels (SPUBLISH), which servers know from Redis 7 on.
    pub async fn ssubscribe<N: Into<Vec<u8>>>(
        &self,
        channels: impl IntoIterator<Item = N>,
    ) -> Result<Messages, Error> {
        let messages = self.messages(Delivery::default());
        messages.ssubscribe(channels).await?;
        Ok(messages)
    }

    /// A stream that hears nothing yet, with a choice of what a move may do to its messages.
    pub fn messages(&self, delivery: Delivery) -> Messages {
        Messages::new(&self.shared.registry, self.slot.clone(), delivery)
    }
}
