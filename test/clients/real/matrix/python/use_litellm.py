from steps import *

# Its list of prices is in the package; without this each start asks GitHub for it.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm

litellm.suppress_debug_info = True
FAMILY = os.environ["FAMILY"]
MODEL = {"openai": "openai/gpt-4o-mini", "anthropic": "anthropic/claude-haiku-4-5", "gemini": "gemini/gemini-2.5-flash"}[FAMILY]
# Its adapter for Google takes the address with the version.
URL = {"openai": BASE + "/v1", "gemini": BASE + "/v1beta"}.get(FAMILY, BASE)


def asked(key, model, prompt, **more):
    name = MODEL if model is None else MODEL.split("/")[0] + "/" + model
    return litellm.completion(model=name, api_base=URL, api_key=key, messages=ASKED(prompt), max_tokens=50, **more)


def chat(key=KEY, model=None, prompt=HI):
    found = asked(key, model, prompt)
    return [found.choices[0].message.content, found.usage.prompt_tokens, found.usage.completion_tokens]


def tools():
    call = asked(KEY, None, CLOCK, tools=[OPENAI_TOOL]).choices[0].message.tool_calls[0].function
    return [call.name, json.loads(call.arguments)]


stream = lambda prompt: "".join(piece.choices[0].delta.content or "" for piece in asked(KEY, None, prompt, stream=True))

step("chat", chat)
step("stream", lambda: stream(HI))
step("tools", tools)
if FAMILY == "openai":
    step("embeddings", lambda: litellm.embedding(model="openai/text-embedding-3-small", api_base=URL, api_key=KEY, input=["a"]).data[0]["embedding"])
refusals(chat)
step("hang_up", lambda: stream(BREAK))
