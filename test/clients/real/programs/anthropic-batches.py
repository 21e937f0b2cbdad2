import os, anthropic

client = anthropic.Anthropic(base_url=os.environ["BASE"] + "/claude", api_key=os.environ["KEY"], max_retries=0)
batch = client.messages.batches.create(
    requests=[{"custom_id": "a", "params": {"model": "claude-haiku-4-5", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}}]
)
print([r.result.message.usage.output_tokens for r in client.messages.batches.results(batch.id)])
