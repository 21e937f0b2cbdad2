import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.http.StreamResponse;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.embeddings.EmbeddingCreateParams;
import java.util.List;

final class UseOpenAi {
  private static final String MODEL = "gpt-4o-mini";

  private static OpenAIClient client(String key) {
    return OpenAIOkHttpClient.builder().baseUrl(Steps.BASE + "/v1").apiKey(key).build();
  }

  private static ChatCompletionCreateParams order(String model, String prompt) {
    return ChatCompletionCreateParams.builder().model(model == null ? MODEL : model).addUserMessage(prompt).build();
  }

  private static Object chat(String key, String model, String prompt) {
    ChatCompletion found = client(key).chat().completions().create(order(model, prompt));
    String text = found.choices().get(0).message().content().orElse("");
    return List.of(text, found.usage().get().promptTokens(), found.usage().get().completionTokens());
  }

  private static Object stream(String prompt) {
    StringBuilder text = new StringBuilder();
    try (StreamResponse<ChatCompletionChunk> pieces = client(Steps.KEY).chat().completions().createStreaming(order(null, prompt))) {
      pieces.stream().flatMap(piece -> piece.choices().stream()).forEach(choice -> choice.delta().content().ifPresent(text::append));
    }
    return text.toString();
  }

  public static void main(String[] args) throws Exception {
    Steps.step("chat", () -> chat(Steps.KEY, null, Steps.HI));
    Steps.step("stream", () -> stream(Steps.HI));
    Steps.step("embeddings", () -> {
      EmbeddingCreateParams asked = EmbeddingCreateParams.builder().model("text-embedding-3-small").input("a").build();
      return client(Steps.KEY).embeddings().create(asked).data().get(0).embedding();
    });
    Steps.step("models", () -> client(Steps.KEY).models().list().data().stream().anyMatch(model -> model.id().equals(MODEL)));
    Steps.refusals(UseOpenAi::chat);
    Steps.step("hang_up", () -> stream(Steps.BREAK));
    System.exit(0);
  }
}
