import type { AnswerForm } from '../answer-form.ts'
import type { Endpoint } from '../endpoint.ts'

/** `json` may have `;enum-encoding=int` behind it. Files are downloaded as `media`, which changes no other answer. */
const READABLE = /^(?:json|sse|media)$/i

/**
 * Google's "system parameters", https://cloud.google.com/apis/docs/system-parameters. Those with a dollar sign that
 * stand for a whole request (`$httpHeaders`, `$req`) set headers and bodies that were not judged.
 */
export const GOOGLE_ANSWER_FORM: AnswerForm = {
  parameters: new Map([
    ['alt', READABLE],
    ['$alt', READABLE],
    ...[
      'fields',
      '$fields',
      'callback',
      '$callback',
      '$ct',
      '$httpheaders',
      '$httpmethod',
      '$outputdefaults',
      '$req',
      'x-goog-fieldmask',
      'x-goog-field-mask',
      'x-goog-user-project',
      '$userproject',
      'userproject',
    ].map((name) => [name, null] as const),
  ]),
  headers: ['x-goog-fieldmask', 'x-goog-field-mask', 'x-goog-user-project'],
}

/** Endpoints of Google's servers, wherever they are served. */
export function servedByGoogle(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  return endpoints.map((endpoint) => ({
    ...endpoint,
    dialect: { ...endpoint.dialect, answerForm: GOOGLE_ANSWER_FORM },
  }))
}
