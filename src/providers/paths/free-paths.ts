import type { PathGroup } from '../provider.ts'

/** Why the endpoints that count tokens are free. */
export const COUNTS_TOKENS = 'counts tokens and generates nothing'
const STORES_FILES = 'storing a file is not billed per call'
/** Why the endpoints that keep objects for later calls are free. */
export const STORES_OBJECTS = 'stores or changes an object and generates nothing'
/** Why the beginning of a batch or of training is free: its end is what is billed. */
export const BEGINS_WORK = 'begins work that is billed when it is done'

/** Free at every provider. */
export const FREE_EVERYWHERE: readonly PathGroup[] = [
  {
    patterns: [
      'POST **/messages/count_tokens',
      'POST **/responses/input_tokens',
      'POST **/tokenize',
      'POST **/detokenize',
    ],
    why: COUNTS_TOKENS,
  },
  {
    patterns: [
      'POST **/v1/files',
      'POST **/v1/uploads',
      'POST **/v1/uploads/*/parts',
      'POST **/v1/uploads/*/complete',
      'POST **/v1/uploads/*/cancel',
    ],
    why: STORES_FILES,
  },
  {
    patterns: [
      'POST **/batches/*/cancel',
      'POST **/runs/*/cancel',
      'POST **/file_batches/*/cancel',
      'POST **/fine_tuning/jobs/*/cancel',
      'POST **/fine_tuning/jobs/*/pause',
      'POST **/batches/*:cancel',
      'POST **/operations/*:cancel',
    ],
    why: 'ends work and begins none',
  },
]

/** Free in Google's interfaces. */
export const GOOGLE_FREE: readonly PathGroup[] = [
  {
    patterns: [
      'POST **:countTokens',
      'POST **:countTextTokens',
      'POST **:countMessageTokens',
      'POST **:computeTokens',
    ],
    why: COUNTS_TOKENS,
  },
  {
    patterns: ['POST /upload/*/files', 'POST /v1*/files', 'POST /v1*/files:register'],
    why: STORES_FILES,
  },
  {
    patterns: ['POST **:batchGenerateContent'],
    why: BEGINS_WORK,
    reportedBy: 'GET of the batch, or of its file',
  },
  { patterns: ['POST **:fetchPredictOperation'], why: 'asks how far work is that was begun before' },
]

/** Skills, which OpenAI and Anthropic store alike. */
export const SKILLS_FREE: PathGroup = {
  patterns: ['POST **/v1/skills', 'POST **/v1/skills/*', 'POST **/v1/skills/*/versions'],
  why: STORES_OBJECTS,
}

/** Free in OpenAI's interface, also where another server has it. */
export const OPENAI_FREE: readonly PathGroup[] = [
  SKILLS_FREE,
  {
    patterns: ['POST **/v1/batches', 'POST **/v1/fine_tuning/jobs', 'POST **/v1/fine_tuning/jobs/*/resume'],
    why: BEGINS_WORK,
    reportedBy: 'GET of the batch or job',
  },
  { patterns: ['POST **/v1/evals/*/runs'], why: BEGINS_WORK, reportedBy: 'GET of the run' },
]

/** Free at OpenAI and Azure, whose routers let nothing through below a path that they serve. */
export const OPENAI_OBJECTS_FREE: PathGroup = {
  patterns: [
    'POST **/v1/chat/completions/*',
    'POST **/v1/conversations',
    'POST **/v1/conversations/*',
    'POST **/v1/conversations/*/items',
    'POST **/v1/assistants',
    'POST **/v1/assistants/*',
    'POST **/v1/threads',
    'POST **/v1/threads/*/messages',
    'POST **/v1/threads/*/messages/*',
    'POST **/v1/threads/*/runs/*',
    'POST **/v1/evals',
    'POST **/v1/evals/*',
    'POST **/v1/fine_tuning/alpha/graders/validate',
  ],
  why: STORES_OBJECTS,
}

/** Batches of Anthropic's interface, also where another server has it. */
export const ANTHROPIC_BATCHES_FREE: PathGroup = {
  patterns: ['POST **/v1/messages/batches'],
  why: BEGINS_WORK,
  reportedBy: 'GET /v1/messages/batches/{id}/results',
}

/** Ollama's description of a model. */
export const OLLAMA_FREE: PathGroup = { patterns: ['POST **/api/show'], why: 'reads what a model is' }
