/** The places where answers hold addresses of the provider's own, by which client libraries go on past the gateway. */
export interface OwnAddresses {
  /** Headers in lower case. */
  readonly headers?: readonly string[]
  /** Members of small JSON documents, by what asks for those. */
  readonly members?: readonly AddressMembers[]
}

/** Members that hold an address, wherever in the document they stand. */
export interface AddressMembers {
  /** As `compilePathPatterns` takes them. */
  readonly patterns: readonly string[]
  readonly names: readonly string[]
}

/** Any server may answer with these (RFC 9110, 8.7 and 10.2.2). */
export const ADDRESS_HEADERS: readonly string[] = ['location', 'content-location']

/** Both of Anthropic's libraries fetch the results of a batch from where it says they are. */
export const ANTHROPIC_ADDRESSES: OwnAddresses = {
  members: [
    {
      patterns: [
        'GET,POST **/v1/messages/batches',
        'GET **/v1/messages/batches/*',
        'POST **/v1/messages/batches/*/cancel',
      ],
      names: ['results_url'],
    },
  ],
}

/** Google's libraries send the bytes of a file there, once they have announced it. */
export const GOOGLE_ADDRESSES: OwnAddresses = {
  headers: ['x-goog-upload-url', 'x-goog-upload-control-url'],
}

/** Azure tells there how far work is that was begun. */
export const AZURE_ADDRESSES: OwnAddresses = { headers: ['operation-location', 'azure-asyncoperation'] }
