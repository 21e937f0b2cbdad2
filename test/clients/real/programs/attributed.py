"""One call by a library, for a user, in a session and a run: each said where the library has a place for it."""

import asyncio, os

BASE, KEY, FAMILY = (os.environ[name] for name in ("BASE", "KEY", "FAMILY"))
USER, SESSION, RUN = "ann", "session-1", "run-1"
HEADERS = {"x-session-id": SESSION, "baggage": "run=" + RUN}
ASKED = [{"role": "user", "content": "hi"}]


def openai():
    from openai import OpenAI

    client = OpenAI(base_url=BASE + "/openai/v1", api_key=KEY, default_headers=HEADERS)
    client.chat.completions.create(model="gpt-4o-mini", messages=ASKED, user=USER)
    client.responses.create(model="gpt-4o-mini", input="hi", safety_identifier=USER)


def anthropic():
    from anthropic import Anthropic

    client = Anthropic(base_url=BASE + "/anthropic", api_key=KEY, default_headers=HEADERS)
    client.messages.create(model="claude-haiku-4-5", max_tokens=10, messages=ASKED, metadata={"user_id": USER})


def langchain():
    # Its `metadata` is its own and goes nowhere: a header says the user.
    from langchain_anthropic import ChatAnthropic
    from langchain_openai import ChatOpenAI

    openai = ChatOpenAI(base_url=BASE + "/openai/v1", api_key=KEY, model="gpt-4o-mini", default_headers=HEADERS, model_kwargs={"user": USER})
    openai.invoke("hi")
    list(openai.stream("hi"))
    ChatAnthropic(base_url=BASE + "/anthropic", api_key=KEY, model="claude-haiku-4-5", default_headers={**HEADERS, "x-user-id": USER}).invoke("hi")


def litellm():
    from litellm import completion

    headers = {"x-litellm-session-id": SESSION, "baggage": "run=" + RUN}
    completion(model="openai/gpt-4o-mini", api_base=BASE + "/openai/v1", api_key=KEY, messages=ASKED, user=USER, extra_headers=headers)


def agents():
    from agents import Agent, ModelSettings, OpenAIProvider, RunConfig, Runner, set_tracing_disabled

    set_tracing_disabled(True)

    async def run(use_responses):
        settings = ModelSettings(extra_args={"user": USER, "prompt_cache_key": SESSION}, extra_headers={"baggage": "run=" + RUN})
        provider = OpenAIProvider(base_url=BASE + "/openai/v1", api_key=KEY, use_responses=use_responses)
        agent = Agent(name="a", instructions="Say hello.", model="gpt-4o-mini")
        await Runner.run(agent, "hi", run_config=RunConfig(model_provider=provider, model_settings=settings))

    async def run_both():
        await run(True)
        await run(False)

    asyncio.run(run_both())


{"openai": openai, "anthropic": anthropic, "langchain": langchain, "litellm": litellm, "agents": agents}[FAMILY]()
