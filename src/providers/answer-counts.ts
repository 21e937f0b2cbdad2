/**
 * What in a request multiplies its answer, by names in lower case. A dialect without it gives one answer to a request,
 * whatever that says.
 */
export interface AnswerCounts {
  /** Numbers, at the top level or among settings. They are names of one thing, so the largest counts. */
  readonly numbers?: readonly string[]
  /** Arrays at the top level whose elements are prompts, each with answers of its own. */
  readonly arrays?: readonly string[]
}

/** THE table: each endpoint's dialect names a row of it. Sources: the references that the dialects name. */
export const ANSWER_COUNTS = {
  /** vLLM takes `best_of` as well, and `n` as the width of its beam search. */
  chat: { numbers: ['n', 'best_of'] },
  /** An array of strings, or of arrays of tokens; an array of tokens is one prompt. */
  completions: { numbers: ['n', 'best_of'], arrays: ['prompt', 'prompt_embeds'] },
  llamaCpp: { numbers: ['n', 'n_cmpl'], arrays: ['prompt'] },
  tgi: { numbers: ['best_of', 'num_return_sequences'], arrays: ['inputs'] },
  gemini: { numbers: ['candidatecount', 'candidate_count'] },
  alibaba: { numbers: ['n'] },
  cloudflareRun: { numbers: ['n', 'num_outputs'], arrays: ['requests'] },
  /** Of Cohere's, of AI21's, and of models that take OpenAI's requests. */
  bedrockInvoke: { numbers: ['num_generations', 'numresults', 'n'] },
  bedrockImages: { numbers: ['numberofimages', 'samples', 'n'] },
  openAiImages: { numbers: ['n'] },
  imagen: { numbers: ['samplecount', 'sample_count', 'numberofimages'], arrays: ['instances'] },
  veo: {
    numbers: ['samplecount', 'sample_count', 'numberofvideos', 'number_of_videos'],
    arrays: ['instances'],
  },
  azureVideos: { numbers: ['n_variants'] },
} as const satisfies Readonly<Record<string, AnswerCounts>>
