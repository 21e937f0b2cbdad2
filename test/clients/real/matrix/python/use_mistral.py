try:
    from mistralai import Mistral
except ImportError:
    from mistralai.client import Mistral
from steps import *

MODEL = "mistral-large-2512"
client = lambda key=KEY: Mistral(api_key=key, server_url=BASE)


def chat(key=KEY, model=None, prompt=HI):
    found = client(key).chat.complete(model=model or MODEL, messages=ASKED(prompt))
    return [found.choices[0].message.content, found.usage.prompt_tokens, found.usage.completion_tokens]


def stream(prompt):
    pieces = client().chat.stream(model=MODEL, messages=ASKED(prompt))
    return "".join(piece.data.choices[0].delta.content or "" for piece in pieces if piece.data.choices)


def tools():
    call = client().chat.complete(model=MODEL, messages=ASKED(CLOCK), tools=[OPENAI_TOOL]).choices[0].message.tool_calls[0].function
    return [call.name, json.loads(call.arguments)]


def embeddings():
    found = client().embeddings.create(model="mistral-embed", inputs=["a"])
    return [found.data[0].embedding, found.usage.prompt_tokens]


step("chat", chat)
step("stream", lambda: stream(HI))
step("tools", tools)
step("embeddings", embeddings)
step("models", lambda: MODEL in [model.id for model in client().models.list().data])
refusals(chat)
step("hang_up", lambda: stream(BREAK))
