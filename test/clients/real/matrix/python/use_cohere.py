import cohere
from steps import *

MODEL = "command-r-08-2024"
client = lambda key=KEY: cohere.ClientV2(api_key=key, base_url=BASE)


def chat(key=KEY, model=None, prompt=HI):
    found = client(key).chat(model=model or MODEL, messages=ASKED(prompt))
    return [found.message.content[0].text, found.usage.billed_units.input_tokens, found.usage.billed_units.output_tokens]


def stream(prompt):
    pieces = client().chat_stream(model=MODEL, messages=ASKED(prompt))
    return "".join(piece.delta.message.content.text for piece in pieces if piece.type == "content-delta")


def tools():
    call = client().chat(model=MODEL, messages=ASKED(CLOCK), tools=[OPENAI_TOOL]).message.tool_calls[0].function
    return [call.name, json.loads(call.arguments)]


def embeddings():
    found = client().embed(model="embed-v4.0", texts=["a"], input_type="search_query", embedding_types=["float"])
    return [found.embeddings.float_ if hasattr(found.embeddings, "float_") else found.embeddings.float, found.meta.billed_units.input_tokens]


step("chat", chat)
step("stream", lambda: stream(HI))
step("tools", tools)
step("embeddings", embeddings)
step("models", lambda: MODEL in [model.name for model in client().models.list().models])
refusals(chat)
step("hang_up", lambda: stream(BREAK))
