from langchain_anthropic import ChatAnthropic
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from steps import *

MODELS = {
    "openai": lambda key, model: ChatOpenAI(base_url=BASE + "/v1", api_key=key, model=model or "gpt-4o-mini"),
    "anthropic": lambda key, model: ChatAnthropic(base_url=BASE, api_key=key, model=model or "claude-haiku-4-5"),
    "gemini": lambda key, model: ChatGoogleGenerativeAI(base_url=BASE, google_api_key=key, model=model or "gemini-2.5-flash"),
}
MAKE = MODELS[os.environ["FAMILY"]]


def chat(key=KEY, model=None, prompt=HI):
    found = MAKE(key, model).invoke(prompt)
    return [found.text if isinstance(found.text, str) else found.text(), found.usage_metadata["input_tokens"], found.usage_metadata["output_tokens"]]


def stream(prompt):
    pieces = list(MAKE(KEY, None).stream(prompt))
    return "".join(piece.content if isinstance(piece.content, str) else "".join(part.get("text", "") for part in piece.content) for piece in pieces)


def tools():
    call = MAKE(KEY, None).bind_tools([OPENAI_TOOL]).invoke(CLOCK).tool_calls[0]
    return [call["name"], call["args"]]


step("chat", chat)
step("stream", lambda: stream(HI))
step("tools", tools)
if os.environ["FAMILY"] == "openai":
    step("embeddings", lambda: OpenAIEmbeddings(base_url=BASE + "/v1", api_key=KEY, model="text-embedding-3-small", check_embedding_ctx_length=False).embed_query("a"))
refusals(chat)
step("hang_up", lambda: stream(BREAK))
