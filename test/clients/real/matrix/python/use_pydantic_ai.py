import asyncio
from pydantic_ai import Agent
from steps import *


def model_of(key, model):
    family = os.environ["FAMILY"]
    if family == "openai":
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        return OpenAIChatModel(model or "gpt-4o-mini", provider=OpenAIProvider(base_url=BASE + "/v1", api_key=key))
    if family == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        own = AsyncAnthropic(base_url=BASE, api_key=key)
        return AnthropicModel(model or "claude-haiku-4-5", provider=AnthropicProvider(anthropic_client=own))
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(model or "gemini-2.5-flash", provider=GoogleProvider(api_key=key, base_url=BASE))


def chat(key=KEY, model=None, prompt=HI):
    async def run():
        found = await Agent(model_of(key, model)).run(prompt)
        usage = found.usage() if callable(found.usage) else found.usage
        return [found.output, usage.input_tokens, usage.output_tokens]

    return asyncio.run(run())


def stream(prompt):
    async def run():
        async with Agent(model_of(KEY, None)).run_stream(prompt) as pieces:
            return "".join([piece async for piece in pieces.stream_text(delta=True)])

    return asyncio.run(run())


step("chat", chat)
step("stream", lambda: stream(HI))
refusals(chat)
step("hang_up", lambda: stream(BREAK))
