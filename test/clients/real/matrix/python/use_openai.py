from openai import OpenAI
from steps import *

MODEL = "gpt-4o-mini"
client = lambda key=KEY: OpenAI(base_url=BASE + "/v1", api_key=key)


def chat(key=KEY, model=None, prompt=HI):
    found = client(key).chat.completions.create(model=model or MODEL, messages=ASKED(prompt))
    return [found.choices[0].message.content, found.usage.prompt_tokens, found.usage.completion_tokens]


def stream(prompt):
    pieces = client().chat.completions.create(model=MODEL, messages=ASKED(prompt), stream=True)
    return "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)


def tools():
    found = client().chat.completions.create(model=MODEL, messages=ASKED(CLOCK), tools=[OPENAI_TOOL])
    call = found.choices[0].message.tool_calls[0].function
    return [call.name, json.loads(call.arguments)]


def embeddings():
    found = client().embeddings.create(model="text-embedding-3-small", input="a")
    return [found.data[0].embedding, found.usage.prompt_tokens]


def files():
    made = client().files.create(file=("a.jsonl", b'{"a":"b"}\n'), purpose="batch")
    again = client().files.retrieve(made.id)
    return [again.filename, again.purpose, client().files.delete(made.id).deleted]


def batches():
    file = client().files.create(file=("a.jsonl", b'{"custom_id":"a"}\n'), purpose="batch")
    made = client().batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    again = client().batches.retrieve(made.id)
    line = json.loads(client().files.content(again.output_file_id).text)
    return [again.status, line["response"]["body"]["usage"]["completion_tokens"]]


step("chat", chat)
step("stream", lambda: stream(HI))
step("responses", lambda: client().responses.create(model=MODEL, input=HI).output_text)
step("tools", tools)
step("embeddings", embeddings)
step("models", lambda: MODEL in [model.id for model in client().models.list()])
refusals(chat)
step("hang_up", lambda: stream(BREAK))
step("files", files)
step("batches", batches)
