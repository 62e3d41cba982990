import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Handles each event once, however often it comes. Needs kafka-clients and PostgreSQL's JDBC driver.
 *
 * <p>KAFKA_BROKERS, KAFKA_TOPIC, KAFKA_GROUP, and DATABASE_URL: jdbc:postgresql://host/database?user=..., with the tables of
 * inbox.sql.
 */
public final class OnceConsumer {
  /** The effect of an event, by the same transaction that remembers its id. */
  private static void handle(Connection connection, ConsumerRecord<String, String> record) throws SQLException {
    try (var insert = connection.prepareStatement("INSERT INTO effects (topic, value) VALUES (?, ?)")) {
      insert.setString(1, record.topic());
      insert.setString(2, record.value());
      insert.executeUpdate();
    }
  }

  private static void handleOnce(Connection connection, ConsumerRecord<String, String> record) throws SQLException {
    String id = new String(record.headers().lastHeader("id").value(), StandardCharsets.UTF_8);
    try (var insert = connection.prepareStatement("INSERT INTO inbox (id) VALUES (?) ON CONFLICT DO NOTHING")) {
      insert.setString(1, id);
      if (insert.executeUpdate() == 1) {
        handle(connection, record);
      }
      connection.commit();
    }
  }

  public static void main(String[] arguments) throws SQLException {
    Map<String, Object> settings =
        Map.of(
            "bootstrap.servers", System.getenv("KAFKA_BROKERS"),
            "group.id", System.getenv("KAFKA_GROUP"),
            "auto.offset.reset", "earliest",
            "enable.auto.commit", "false",
            "key.deserializer", StringDeserializer.class,
            "value.deserializer", StringDeserializer.class);
    try (var connection = DriverManager.getConnection(System.getenv("DATABASE_URL"));
        var consumer = new KafkaConsumer<String, String>(settings)) {
      connection.setAutoCommit(false);
      consumer.subscribe(List.of(System.getenv("KAFKA_TOPIC")));
      while (true) {
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(1))) {
          handleOnce(connection, record);
        }
        // Only of what has been handled; it may be late, since a repeat does no harm.
        consumer.commitAsync();
      }
    }
  }
}
