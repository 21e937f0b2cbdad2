"""Runs llm-org-cost-monitor as its command does. The addresses of the providers are fixed in it, so they are set here."""

import os

from llm_org_cost_monitor import cli, providers

providers.OpenAICostClient.base_url = os.environ["BASE"] + "/v1"
providers.AnthropicCostClient.base_url = os.environ["BASE"] + "/v1"
cli.app()
