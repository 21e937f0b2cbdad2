import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;

/** What every program does: each step is announced, and what it had is printed as one line of JSON. */
final class Steps {
  static final String BASE = System.getenv("BASE"), KEY = System.getenv("KEY"), SPENT = System.getenv("SPENT");
  static final String WRONG = System.getenv("WRONG"), NO_MODEL = "no-such-model";
  static final String HI = "hi", CLOCK = "What time is it in Paris?", BREAK = "Please hang up.";

  interface Chat {
    Object ask(String key, String model, String prompt) throws Exception;
  }

  static void step(String name, Callable<Object> run) throws Exception {
    HttpRequest announced = HttpRequest.newBuilder(URI.create(System.getenv("CONTROL") + "/" + name)).build();
    HttpClient.newHttpClient().send(announced, HttpResponse.BodyHandlers.discarding());
    Map<String, Object> found = new LinkedHashMap<>();
    found.put("step", name);
    try {
      found.put("result", run.call());
    } catch (Exception error) {
      found.put("error", error.getClass().getSimpleName());
      try {
        found.put("status", error.getClass().getMethod("statusCode").invoke(error));
      } catch (ReflectiveOperationException none) {
        found.put("status", null);
      }
      found.put("text", error.getMessage());
    }
    System.out.println("STEP " + new ObjectMapper().writeValueAsString(found));
  }

  static void refusals(Chat chat) throws Exception {
    step("wrong_key", () -> chat.ask(WRONG, null, HI));
    step("no_model", () -> chat.ask(KEY, NO_MODEL, HI));
    step("spent", () -> chat.ask(SPENT, null, HI));
  }

  private Steps() {}
}
