//! The harness keeps its promises about the proxy, mode by mode, in front of a real server.

use std::io;
use std::time::Duration;

use failover_testkit::server::{Mode, Proxy, RedisServer, Shape, Way};
use failover_testkit::wait_until;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const BOUND: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_millis(150);

async fn setup() -> (RedisServer, Proxy) {
    let server = RedisServer::start();
    let proxy = Proxy::start(([127, 0, 0, 1], server.port())).await.unwrap();
    (server, proxy)
}

async fn connect(proxy: &Proxy) -> TcpStream {
    TcpStream::connect(proxy.address()).await.unwrap()
}

async fn send(client: &mut TcpStream, command: &str) {
    client
        .write_all(format!("{command}\r\n").as_bytes())
        .await
        .unwrap();
}

/// What comes next, if anything does: empty at the end of the stream.
async fn receive(client: &mut TcpStream) -> io::Result<String> {
    let mut buffer = [0; 1024];
    let count = timeout(BOUND, client.read(&mut buffer))
        .await
        .expect("neither bytes nor an end")?;
    Ok(String::from_utf8_lossy(&buffer[..count]).into_owned())
}

async fn silent(client: &mut TcpStream) -> bool {
    timeout(SILENCE, client.read(&mut [0; 1])).await.is_err()
}

async fn increment(client: &mut TcpStream) -> io::Result<String> {
    send(client, "INCR n").await;
    receive(client).await
}

fn n(server: &RedisServer) -> String {
    server.cli(&["GET", "n"])
}

#[tokio::test]
async fn forwards_and_counts() {
    let (server, proxy) = setup().await;
    let (mut one, mut two) = (connect(&proxy).await, connect(&proxy).await);
    assert_eq!(increment(&mut one).await.unwrap(), ":1\r\n");
    assert_eq!(increment(&mut two).await.unwrap(), ":2\r\n");
    assert_eq!((proxy.connections(), proxy.accepted()), (2, 2));
    assert_eq!(server.clients().len(), 2);
    drop(one);
    wait_until(BOUND, "one connection less", || proxy.connections() == 1).await;
    wait_until(BOUND, "one client less", || server.clients().len() == 1).await;
    assert_eq!(proxy.accepted(), 2);
}

/// Requests and replies that both fill every buffer between the ends still pass: the directions are independent.
#[tokio::test]
async fn forwards_more_than_fits_in_the_buffers() {
    const COUNT: usize = 200;
    let (server, proxy) = setup().await;
    let value = "v".repeat(64 * 1024);
    server.cli(&["SET", "big", &value]);
    let (mut reads, mut writes) = connect(&proxy).await.into_split();
    let sender = tokio::spawn(async move {
        let padding = "x".repeat(32 * 1024);
        for _ in 0..COUNT {
            writes
                .write_all(format!("ECHO {padding}\r\nGET big\r\n").as_bytes())
                .await
                .unwrap();
        }
        writes
    });
    let mut left = COUNT * ("$32768\r\n\r\n$65536\r\n\r\n".len() + 96 * 1024);
    let mut buffer = vec![0; 64 * 1024];
    while left > 0 {
        left -= timeout(BOUND, reads.read(&mut buffer))
            .await
            .unwrap()
            .unwrap();
    }
    drop(sender.await.unwrap());
}

#[tokio::test]
async fn a_blackhole_holds_old_and_new_connections_and_heals() {
    let (server, proxy) = setup().await;
    let mut old = connect(&proxy).await;
    assert_eq!(increment(&mut old).await.unwrap(), ":1\r\n");
    proxy.set(Mode::Blackhole).await;
    let mut new = connect(&proxy).await;
    send(&mut old, "INCR n").await;
    send(&mut new, "INCR n").await;
    assert!(silent(&mut old).await && silent(&mut new).await);
    assert_eq!(n(&server), "1");
    proxy.set(Mode::Forward).await;
    receive(&mut old).await.unwrap();
    receive(&mut new).await.unwrap();
    assert_eq!(n(&server), "3");
}

#[tokio::test]
async fn a_client_that_leaves_a_blackhole_is_counted_out_and_the_server_hears_nothing() {
    let (server, proxy) = setup().await;
    let mut client = connect(&proxy).await;
    increment(&mut client).await.unwrap();
    proxy.set(Mode::Blackhole).await;
    send(&mut client, "INCR n").await; // bytes that wait do not hide the end behind them
    drop(client);
    wait_until(BOUND, "the client counted out", || proxy.connections() == 0).await;
    assert_eq!((server.clients().len(), n(&server).as_str()), (1, "1"));
    proxy.set(Mode::Forward).await;
    wait_until(BOUND, "the server told", || server.clients().is_empty()).await;
}

#[tokio::test]
async fn eaten_replies_are_of_requests_that_were_carried_out() {
    let (server, proxy) = setup().await;
    let mut client = connect(&proxy).await;
    proxy.set(Mode::EatReplies).await;
    send(&mut client, "INCR n").await;
    assert!(silent(&mut client).await);
    assert_eq!(n(&server), "1");
    proxy.set(Mode::Forward).await;
    // Out of step by one reply: it ends rather than answering the next request with the wrong one.
    assert_eq!(increment(&mut client).await.unwrap(), "");
    assert_eq!(
        increment(&mut connect(&proxy).await).await.unwrap(),
        ":3\r\n"
    );
}

#[tokio::test]
async fn a_cut_comes_after_the_request_and_before_the_reply() {
    let (server, proxy) = setup().await;
    let mut client = connect(&proxy).await;
    proxy.set(Mode::CutBeforeReply).await;
    assert_eq!(increment(&mut client).await.unwrap(), "");
    assert_eq!(increment(&mut connect(&proxy).await).await.unwrap(), "");
    assert_eq!(n(&server), "2");

    proxy.set(Mode::CutOneReply).await;
    assert_eq!(increment(&mut connect(&proxy).await).await.unwrap(), "");
    assert_eq!(proxy.mode(), Mode::Forward);
    assert_eq!(
        increment(&mut connect(&proxy).await).await.unwrap(),
        ":4\r\n"
    );
}

#[tokio::test]
async fn refusing_looks_like_a_killed_server_and_can_end() {
    let (server, proxy) = setup().await;
    let mut client = connect(&proxy).await;
    increment(&mut client).await.unwrap();
    proxy.set(Mode::Refuse).await;
    assert_eq!(proxy.connections(), 0);
    let error = receive(&mut client).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    let error = TcpStream::connect(proxy.address()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    proxy.set(Mode::Refuse).await; // again: nothing more happens
    proxy.set(Mode::Forward).await;
    assert_eq!(
        increment(&mut connect(&proxy).await).await.unwrap(),
        ":2\r\n"
    );
    assert_eq!((proxy.accepted(), n(&server).as_str()), (2, "2"));
}

#[tokio::test]
async fn a_reset_ends_what_is_open_and_nothing_else() {
    let (_server, proxy) = setup().await;
    // One that answered, and one that the proxy has hardly accepted.
    let mut old = connect(&proxy).await;
    increment(&mut old).await.unwrap();
    let mut fresh = connect(&proxy).await;
    wait_until(BOUND, "both accepted", || proxy.accepted() == 2).await;
    timeout(BOUND, proxy.reset_connections()).await.unwrap();
    assert_eq!(proxy.connections(), 0);
    for client in [&mut old, &mut fresh] {
        assert_eq!(
            receive(client).await.unwrap_err().kind(),
            io::ErrorKind::ConnectionReset
        );
    }
    increment(&mut connect(&proxy).await).await.unwrap();
}

#[tokio::test]
async fn the_target_s_end_is_passed_on() {
    let (server, proxy) = setup().await;
    let mut client = connect(&proxy).await;
    increment(&mut client).await.unwrap();
    server.kill();
    // An end of file or a reset, as the kernel chooses for a killed process.
    assert_eq!(receive(&mut client).await.unwrap_or_default(), "");
    wait_until(BOUND, "no connection left", || proxy.connections() == 0).await;
    assert!(receive(&mut connect(&proxy).await).await.is_err());
}

#[tokio::test]
async fn delay_slows_both_directions() {
    let (_server, proxy) = setup().await;
    let mut client = connect(&proxy).await;
    // Both directions wait for data by now: the delay is for what comes, not for who has yet to look.
    increment(&mut client).await.unwrap();
    proxy.delay(Duration::from_millis(40));
    let start = std::time::Instant::now();
    increment(&mut client).await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(80));
}

#[tokio::test]
async fn a_dropped_proxy_leaves_no_task_and_no_socket() {
    let (server, proxy) = setup().await;
    let mut client = connect(&proxy).await;
    increment(&mut client).await.unwrap();
    let metrics = tokio::runtime::Handle::current().metrics();
    assert!(metrics.num_alive_tasks() >= 2);
    let address = proxy.address();
    drop(proxy);
    wait_until(BOUND, "no task left", || metrics.num_alive_tasks() == 0).await;
    assert_eq!(receive(&mut client).await.unwrap_or_default(), "");
    assert!(TcpStream::connect(address).await.is_err());
    wait_until(BOUND, "no client left", || server.clients().is_empty()).await;
}

#[tokio::test]
async fn replies_can_be_cut_in_their_middle() {
    let (server, proxy) = setup().await;
    let mut client = connect(&proxy).await;
    assert_eq!(increment(&mut client).await.unwrap(), ":1\r\n");
    proxy.set(Mode::CutReplyAfter(6)).await;
    assert_eq!(increment(&mut client).await.unwrap(), ":2\r\n");
    send(&mut client, "INCR n").await;
    assert_eq!(receive(&mut client).await.unwrap(), ":3");
    assert_eq!(receive(&mut client).await.unwrap_or_default(), "");
    assert_eq!(n(&server), "3");
    // What went on before counts for nothing later.
    proxy.set(Mode::Forward).await;
    let mut client = connect(&proxy).await;
    assert_eq!(increment(&mut client).await.unwrap(), ":4\r\n");
    proxy.set(Mode::CutReplyAfter(4)).await;
    assert_eq!(increment(&mut client).await.unwrap(), ":5\r\n");
}

#[tokio::test]
async fn one_direction_can_be_held_alone() {
    let (server, proxy) = setup().await;
    let mut client = connect(&proxy).await;
    proxy.set(Mode::HoldReplies).await;
    send(&mut client, "INCR n").await;
    assert!(silent(&mut client).await);
    assert_eq!(n(&server), "1");
    proxy.set(Mode::Forward).await;
    assert_eq!(receive(&mut client).await.unwrap(), ":1\r\n");

    // Half a second, so that the request is certainly carried out and its reply under way when requests are held.
    proxy.shape(
        Way::Reply,
        Shape {
            delay: Duration::from_millis(500),
            ..Shape::default()
        },
    );
    send(&mut client, "INCR n").await;
    wait_until(BOUND, "the request carried out", || n(&server) == "2").await;
    proxy.set(Mode::HoldRequests).await;
    assert_eq!(receive(&mut client).await.unwrap(), ":2\r\n");
    proxy.shape(Way::Reply, Shape::default());
    send(&mut client, "INCR n").await;
    assert!(silent(&mut client).await);
    assert_eq!(n(&server), "2");
    proxy.set(Mode::Forward).await;
    assert_eq!(receive(&mut client).await.unwrap(), ":3\r\n");
}

#[tokio::test]
async fn a_port_can_refuse_while_open_connections_go_on() {
    let (_server, proxy) = setup().await;
    let mut client = connect(&proxy).await;
    increment(&mut client).await.unwrap();
    proxy.set(Mode::RefuseNew).await;
    assert_eq!(increment(&mut client).await.unwrap(), ":2\r\n");
    let error = TcpStream::connect(proxy.address()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    proxy.set(Mode::Forward).await;
    increment(&mut connect(&proxy).await).await.unwrap();
}

#[tokio::test]
async fn a_rate_holds_for_each_direction_by_itself() {
    let (server, proxy) = setup().await;
    server.cli(&["SET", "value", &"v".repeat(2000)]);
    let mut client = connect(&proxy).await;
    let slow = Shape {
        bytes_per_second: Some(10_000),
        ..Shape::default()
    };
    proxy.shape(Way::Reply, slow);
    let start = std::time::Instant::now();
    send(&mut client, "GET value").await;
    let mut left = "$2000\r\n\r\n".len() + 2000;
    while left > 0 {
        left -= receive(&mut client).await.unwrap().len();
    }
    assert!(start.elapsed() >= Duration::from_millis(200));
}
