import com.eventstore.dbclient.*;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** What a reader and writer does with the official Java client; one JSON object a line says what came of it. */
public class Story {
  static String list(List<String> texts) {
    return texts.stream().map(text -> "\"" + text + "\"").collect(Collectors.joining(",", "[", "]"));
  }

  static String quoted(byte[] json) {
    return "\"" + new String(json, StandardCharsets.UTF_8).replace("\"", "\\\"") + "\"";
  }

  static void say(String step, String rest) {
    System.out.println("{\"step\":\"" + step + "\"," + rest + "}");
  }

  static EventData event(String type) {
    return EventDataBuilder.json(type, "{\"from\":\"java\"}".getBytes(StandardCharsets.UTF_8))
        .metadataAsBytes("{\"kept\":true}".getBytes(StandardCharsets.UTF_8))
        .build();
  }

  static List<String> types(ReadResult result) {
    return result.getEvents().stream().map(each -> each.getOriginalEvent().getEventType()).collect(Collectors.toList());
  }

  public static void main(String[] arguments) throws Exception {
    EventStoreDBClientSettings settings =
        EventStoreDBConnectionString.parseOrThrow("esdb://" + arguments[0] + "?tls=false");
    EventStoreDBClient client = EventStoreDBClient.create(settings);
    String stream = "java-" + UUID.randomUUID();
    AppendToStreamOptions fresh = AppendToStreamOptions.get().expectedRevision(ExpectedRevision.noStream());

    EventData first = event("Begun");
    client.appendToStream(stream, fresh, first, event("Continued")).get();
    client.appendToStream(stream, fresh, first).get();
    ReadResult read = client.readStream(stream, ReadStreamOptions.get().fromStart()).get();
    say("append", "\"revisions\":" + read.getEvents().stream()
        .map(each -> String.valueOf(each.getOriginalEvent().getRevision())).collect(Collectors.toList()));

    RecordedEvent begun = read.getEvents().get(0).getOriginalEvent();
    ReadResult backwards = client.readStream(stream, ReadStreamOptions.get().backwards().fromEnd()).get();
    List<String> all = client.readAll(ReadAllOptions.get().fromStart()).get().getEvents().stream()
        .filter(each -> each.getOriginalEvent().getStreamId().equals(stream))
        .map(each -> each.getOriginalEvent().getEventType()).collect(Collectors.toList());
    say("read", "\"types\":" + list(types(read)) + ",\"data\":" + quoted(begun.getEventData())
        + ",\"metadata\":" + quoted(begun.getUserMetadata())
        + ",\"backwards\":" + list(types(backwards)) + ",\"all\":" + list(all));

    boolean seen = false;
    try {
      client.appendToStream(stream, fresh, event("Late")).get();
    } catch (ExecutionException failure) {
      seen = failure.getCause() instanceof WrongExpectedVersionException;
    }
    say("conflict", "\"seen\":" + seen);

    List<String> tailed = new ArrayList<>();
    CountDownLatch live = new CountDownLatch(1);
    Subscription subscription = client.subscribeToAll(new SubscriptionListener() {
      @Override
      public void onEvent(Subscription unused, ResolvedEvent each) {
        if (!each.getOriginalEvent().getStreamId().equals(stream)) return;
        tailed.add(each.getOriginalEvent().getEventType());
        if (each.getOriginalEvent().getEventType().equals("Live")) live.countDown();
      }

      @Override
      public void onCaughtUp(Subscription unused) {
        client.appendToStream(stream, AppendToStreamOptions.get().expectedRevision(1), event("Live"));
      }
    }, SubscribeToAllOptions.get().fromStart()
        .filter(SubscriptionFilter.newBuilder().addStreamNamePrefix("java-").build())).get();
    if (!live.await(20, TimeUnit.SECONDS)) throw new IllegalStateException("nothing live was seen");
    subscription.stop();
    say("tail", "\"types\":" + list(tailed));
    client.shutdown().get();
    System.exit(0);
  }
}
