//! Reads and writes a log with the official Rust client; prints the outcome of each step as a line of JSON.

use eventstore::{
    AppendToStreamOptions, Client, EventData, ExpectedRevision, ReadAllOptions, ReadStream,
    ReadStreamOptions, ResolvedEvent, StreamPosition, SubscribeToAllOptions, SubscriptionEvent,
    SubscriptionFilter,
};
use serde_json::{json, Value};
use std::{env, str::from_utf8, time::Duration};
use uuid::Uuid;

/// The gRPC status of a conflict in a batch append, which is all that this client tells about the conflict.
const ALREADY_EXISTS: i32 = 6;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn say(step: &str, mut what: Value) {
    what["step"] = json!(step);
    println!("{what}");
}

/// An event with an id, by which the server recognizes it when it is sent again.
fn event(kind: &str) -> serde_json::Result<EventData> {
    EventData::json(kind, &json!({ "from": "rust" }))?
        .id(Uuid::new_v4())
        .metadata_as_json(&json!({ "kept": true }))
}

async fn gathered(mut read: ReadStream) -> eventstore::Result<Vec<ResolvedEvent>> {
    let mut found = Vec::new();
    while let Some(each) = read.next().await? {
        found.push(each);
    }
    Ok(found)
}

fn types<'a>(events: impl IntoIterator<Item = &'a ResolvedEvent>) -> Vec<&'a str> {
    events
        .into_iter()
        .map(|each| each.get_original_event().event_type.as_str())
        .collect()
}

async fn tailed(client: &Client, stream: &str) -> Outcome<Vec<String>> {
    let options = SubscribeToAllOptions::default()
        .position(StreamPosition::Start)
        .filter(SubscriptionFilter::on_stream_name().add_prefix("rust-"));
    let second = AppendToStreamOptions::default().expected_revision(ExpectedRevision::Exact(1));
    let mut subscription = client.subscribe_to_all(&options).await;
    let mut seen: Vec<String> = Vec::new();
    while seen.last().map(String::as_str) != Some("Live") {
        match subscription.next_subscription_event().await? {
            SubscriptionEvent::CaughtUp => {
                client
                    .append_to_stream(stream, &second, event("Live")?)
                    .await?;
            }
            SubscriptionEvent::EventAppeared(each) if each.get_original_stream_id() == stream => {
                seen.push(each.get_original_event().event_type.clone());
            }
            _ => {}
        }
    }
    Ok(seen)
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let address = env::args().nth(1).ok_or("the first argument must be the address of the server")?;
    let client = Client::new(format!("esdb://{address}?tls=false").parse()?)?;
    let name = format!("rust-{}", Uuid::new_v4());
    let stream = name.as_str();
    let fresh = AppendToStreamOptions::default().expected_revision(ExpectedRevision::NoStream);

    let first = event("Begun")?;
    client
        .append_to_stream(stream, &fresh, vec![first.clone(), event("Continued")?])
        .await?;
    client
        .append_to_stream(stream, &fresh, first.clone())
        .await?;
    // This client can append with the RPC Append and with BatchAppend.
    let batch = client.batch_append(&Default::default()).await?;
    batch
        .append_to_stream(stream, ExpectedRevision::NoStream, vec![first])
        .await?;
    let recorded = gathered(client.read_stream(stream, &Default::default()).await?).await?;
    let revisions: Vec<u64> = recorded
        .iter()
        .map(|each| each.get_original_event().revision)
        .collect();
    say("append", json!({ "revisions": revisions }));

    let begun = recorded[0].get_original_event();
    let from_end = ReadStreamOptions::default()
        .backwards()
        .position(StreamPosition::End);
    let backwards = gathered(client.read_stream(stream, &from_end).await?).await?;
    let all = gathered(client.read_all(&ReadAllOptions::default()).await?).await?;
    say(
        "read",
        json!({
            "types": types(&recorded),
            "data": from_utf8(&begun.data)?,
            "metadata": from_utf8(&begun.custom_metadata)?,
            "backwards": types(&backwards),
            "all": types(all.iter().filter(|each| each.get_original_stream_id() == stream)),
        }),
    );

    let late = client
        .append_to_stream(stream, &fresh, event("Late")?)
        .await;
    let late_in_batch = batch
        .append_to_stream(stream, ExpectedRevision::NoStream, vec![event("Late")?])
        .await;
    let seen = matches!(late, Err(eventstore::Error::WrongExpectedVersion { .. }))
        && matches!(late_in_batch, Err(eventstore::Error::Grpc { code, .. }) if code as i32 == ALREADY_EXISTS);
    say("conflict", json!({ "seen": seen }));

    let types = tokio::time::timeout(Duration::from_secs(20), tailed(&client, stream)).await??;
    say("tail", json!({ "types": types }));
    Ok(())
}
