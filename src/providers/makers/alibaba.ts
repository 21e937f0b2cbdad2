import { listedElsewhereAs } from '../catalog-lists.ts'
import { endpoint } from '../endpoint.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { alibabaGeneration } from '../others/alibaba-generation.ts'
import { BEARER, type HostedProvider } from '../provider.ts'

/** Alibaba Cloud's Model Studio. */
export const alibaba: HostedProvider = {
  hosts: ['dashscope.aliyuncs.com', 'dashscope-*.aliyuncs.com', '*.maas.aliyuncs.com'],
  credential: BEARER,
  catalog: listedElsewhereAs('alibaba'),
  apis: ['openai', 'anthropic'],
  openAi: USAGE_IF_ASKED,
  endpoints: [endpoint('POST', /\/services\/aigc\/.+\/generation$/, alibabaGeneration)],
}
