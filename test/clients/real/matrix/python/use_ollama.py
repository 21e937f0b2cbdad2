import ollama
from steps import *

MODEL = "llama3.2"
client = lambda key=KEY: ollama.Client(host=BASE, headers={"Authorization": "Bearer " + key})


def chat(key=KEY, model=None, prompt=HI):
    found = client(key).chat(model=model or MODEL, messages=ASKED(prompt))
    return [found.message.content, found.prompt_eval_count, found.eval_count]


def tools():
    call = client().chat(model=MODEL, messages=ASKED(CLOCK), tools=[OPENAI_TOOL]).message.tool_calls[0].function
    return [call.name, dict(call.arguments)]


def embeddings():
    found = client().embed(model="nomic-embed-text", input="a")
    return [[list(one) for one in found.embeddings], found.prompt_eval_count]


stream = lambda prompt: "".join(piece.message.content for piece in client().chat(model=MODEL, messages=ASKED(prompt), stream=True))

step("chat", chat)
step("stream", lambda: stream(HI))
step("tools", tools)
step("embeddings", embeddings)
step("models", lambda: MODEL in [model.model for model in client().list().models])
refusals(chat)
step("hang_up", lambda: stream(BREAK))
