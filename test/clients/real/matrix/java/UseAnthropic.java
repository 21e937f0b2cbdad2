import com.anthropic.client.AnthropicClient;
import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.anthropic.core.http.StreamResponse;
import com.anthropic.models.messages.Message;
import com.anthropic.models.messages.MessageCreateParams;
import com.anthropic.models.messages.RawMessageStreamEvent;
import java.util.List;

final class UseAnthropic {
  private static final String MODEL = "claude-haiku-4-5";

  private static AnthropicClient client(String key) {
    return AnthropicOkHttpClient.builder().baseUrl(Steps.BASE).apiKey(key).build();
  }

  private static MessageCreateParams order(String model, String prompt) {
    return MessageCreateParams.builder().model(model == null ? MODEL : model).maxTokens(50).addUserMessage(prompt).build();
  }

  private static Object chat(String key, String model, String prompt) {
    Message found = client(key).messages().create(order(model, prompt));
    return List.of(found.content().get(0).text().get().text(), found.usage().inputTokens(), found.usage().outputTokens());
  }

  private static Object stream(String prompt) {
    StringBuilder text = new StringBuilder();
    try (StreamResponse<RawMessageStreamEvent> pieces = client(Steps.KEY).messages().createStreaming(order(null, prompt))) {
      pieces.stream()
          .flatMap(event -> event.contentBlockDelta().stream())
          .flatMap(event -> event.delta().text().stream())
          .forEach(delta -> text.append(delta.text()));
    }
    return text.toString();
  }

  public static void main(String[] args) throws Exception {
    Steps.step("chat", () -> chat(Steps.KEY, null, Steps.HI));
    Steps.step("stream", () -> stream(Steps.HI));
    Steps.step("models", () -> client(Steps.KEY).models().list().data().stream().anyMatch(model -> model.id().equals(MODEL)));
    Steps.refusals(UseAnthropic::chat);
    Steps.step("hang_up", () -> stream(Steps.BREAK));
    System.exit(0);
  }
}
