from llama_index.core.llms import ChatMessage
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.openai import OpenAI
from steps import *

client = lambda key, model: OpenAI(api_base=BASE + "/v1", api_key=key, model=model or "gpt-4o-mini")
said = lambda prompt: [ChatMessage(role="user", content=prompt)]


def chat(key=KEY, model=None, prompt=HI):
    found = client(key, model).chat(said(prompt))
    return [found.message.content, found.raw.usage.prompt_tokens, found.raw.usage.completion_tokens]


step("chat", chat)
step("stream", lambda: "".join(piece.delta or "" for piece in client(KEY, None).stream_chat(said(HI))))
step("embeddings", lambda: OpenAIEmbedding(api_base=BASE + "/v1", api_key=KEY, model="text-embedding-3-small").get_text_embedding("a"))
refusals(chat)
step("hang_up", lambda: "".join(piece.delta or "" for piece in client(KEY, None).stream_chat(said(BREAK))))
