from groq import Groq
from steps import *

MODEL = "llama-3.1-8b-instant"
client = lambda key=KEY: Groq(base_url=BASE, api_key=key)


def chat(key=KEY, model=None, prompt=HI):
    found = client(key).chat.completions.create(model=model or MODEL, messages=ASKED(prompt))
    return [found.choices[0].message.content, found.usage.prompt_tokens, found.usage.completion_tokens]


def stream(prompt):
    pieces = client().chat.completions.create(model=MODEL, messages=ASKED(prompt), stream=True)
    return "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)


def tools():
    call = client().chat.completions.create(model=MODEL, messages=ASKED(CLOCK), tools=[OPENAI_TOOL]).choices[0].message.tool_calls[0].function
    return [call.name, json.loads(call.arguments)]


step("chat", chat)
step("stream", lambda: stream(HI))
step("tools", tools)
step("models", lambda: MODEL in [model.id for model in client().models.list().data])
refusals(chat)
step("hang_up", lambda: stream(BREAK))
