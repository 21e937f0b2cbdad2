from anthropic import Anthropic
from steps import *

MODEL = "claude-haiku-4-5"
client = lambda key=KEY: Anthropic(base_url=BASE, api_key=key)
asked = lambda model, prompt: {"model": model or MODEL, "max_tokens": 50, "messages": ASKED(prompt)}


def chat(key=KEY, model=None, prompt=HI):
    found = client(key).messages.create(**asked(model, prompt))
    return [found.content[0].text, found.usage.input_tokens, found.usage.output_tokens]


def stream(prompt):
    with client().messages.stream(**asked(None, prompt)) as pieces:
        return "".join(pieces.text_stream)


def tools():
    tool = {"name": TOOL["name"], "description": TOOL["description"], "input_schema": SCHEMA}
    call = client().messages.create(**asked(None, CLOCK), tools=[tool]).content[0]
    return [call.name, call.input]


def files():
    made = client().beta.files.upload(file=("a.txt", b"bytes", "text/plain"))
    again = client().beta.files.retrieve_metadata(made.id)
    return [again.filename, client().beta.files.delete(made.id).type]


def batches():
    made = client().messages.batches.create(requests=[{"custom_id": "a", "params": asked(None, HI)}])
    return [line.result.message.usage.output_tokens for line in client().messages.batches.results(made.id)]


step("chat", chat)
step("stream", lambda: stream(HI))
step("tools", tools)
step("count_tokens", lambda: client().messages.count_tokens(model=MODEL, messages=ASKED(HI)).input_tokens)
step("models", lambda: MODEL in [model.id for model in client().models.list()])
refusals(chat)
step("hang_up", lambda: stream(BREAK))
step("files", files)
step("batches", batches)
