import type { CallRefusal } from '../../../http/errors.ts'
import type { AnswerForm } from '../../../providers/dialect.ts'
import { entryOf } from '../../../providers/registry.ts'
import { asksForUsage, oddStreamMember } from '../../bodies/include-usage.ts'
import type { Admission } from '../admission.ts'

/** Some proxies decode what they pass on, so that a server decodes it again. */
const MAX_DECODINGS = 4
const ENCODED = /(?:%[0-9a-f]{2})+/gi
/** A server that is sent protocol buffers answers in them. */
const UNREADABLE_TYPE = /proto/i

/** Refuses a call whose answer would come in a form in which its usage is not found. */
export function checkAnswerForm({ route, body, request }: Admission): CallRefusal | null {
  const form = route.dialect?.answerForm ?? entryOf(route.upstream.provider).answerForm
  if (form !== undefined) {
    const parameter = findParameter(form, route.target.pathAndQuery)
    if (parameter !== null) return refusal(parameter)
    if (UNREADABLE_TYPE.test(request.headers['content-type'] ?? '')) return refusal('content-type')
  }
  if (body.scan === null || body.form !== null || !asksForUsage(route)) return null
  const member = oddStreamMember(body.scan)
  return member === null ? null : refusal(member)
}

/** The first parameter of the query that changes the form. Servers differ in whether `;` separates parameters. */
function findParameter({ parameters }: AnswerForm, pathAndQuery: string): string | null {
  const queryStart = pathAndQuery.indexOf('?')
  if (queryStart === -1) return null
  for (const pair of decoded(pathAndQuery.slice(queryStart + 1)).split(/[&;]/)) {
    const [written = '', value = ''] = pair.split('=')
    const name = written.trim().toLowerCase()
    const allowed = parameters.get(name)
    if (allowed === undefined || allowed?.test(value.trim()) === true) continue
    return name
  }
  return null
}

function decoded(query: string): string {
  let text = query.replaceAll('+', ' ')
  for (let times = 0; times < MAX_DECODINGS && text.includes('%'); times += 1) {
    text = text.replace(ENCODED, (encoded) =>
      Buffer.from(encoded.replaceAll('%', ''), 'hex').toString('utf8'),
    )
  }
  return text
}

function refusal(param: string): CallRefusal {
  const message = `Leave out "${param}", or write it as client libraries do: usage is read from the answer, which would have another form.`
  return { error: 'invalid_request', detail: { param, message } }
}
