import { expect, test } from 'vitest'
import { argumentsIn, forcesCall } from '../../../src/gateway/estimation/called-tools.ts'

test.each([
  '{"tool_choice":{"type":"tool","name":"f"}}',
  '{"tool_choice": {"disable_parallel_tool_use":true, "type" : "any"}}',
  '{"tool_choice":"required"}',
  '{"tool_choice":{"type":"function","function":{"name":"f"}}}',
  '{"function_call":{"name":"f"}}',
  '{"toolConfig":{"toolChoice":{"any":{}}}}',
  '{"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}',
])('%s makes the model call a tool', (body) => {
  expect(forcesCall(Buffer.from(body))).toBe(true)
})

test.each([
  '{"tool_choice":{"type":"auto"}}',
  '{"tool_choice":"auto"}',
  '{"toolConfig":{"toolChoice":{"auto":{}}}}',
  '{"messages":[{"content":"\\"tool_choice\\":\\"required\\""}]}',
  '{"functionCallingConfig":{"mode":"NONE"}}',
  '{"tool_choice"',
  '',
])('%s leaves it the choice', (body) => {
  expect(forcesCall(Buffer.from(body))).toBe(false)
  expect(forcesCall(null)).toBe(false)
})

test.each([
  ['f{}', 0],
  ['f{"a":1,"b":{"c":2}}', 2],
  ['I look it up: now.f{"a":"x: \\"y\\": {z}","b":[{"c":1}]}g{"d":2}', 3],
  ['f{"a":1,"b', 1],
  ['}}]"{"a":1}', 1],
])('arguments are counted in generated text: %s', (text, count) => {
  expect(argumentsIn(text)).toBe(count)
})
