/** JSON Schemas of the OpenRPC document. */
export const openRpcSchemas = {
  Address: { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' },
  Bytes: { type: 'string', pattern: '^0x([0-9a-fA-F]{2})*$' },
  Quantity: {
    description: '0x hex, decimal text or a safe integer; "0x" means missing.',
    oneOf: [
      { type: 'string', pattern: '^(0x[0-9a-fA-F]*|[0-9]+)$' },
      { type: 'integer', minimum: 0 },
    ],
  },
  UserOperation: {
    type: 'object',
    description:
      'A partial user operation of EntryPoint 0.6, or of 0.7+ packed or unpacked. Unknown fields are ignored.',
    required: ['sender', 'nonce', 'callData'],
    properties: {
      sender: ref('Address'),
      nonce: ref('Quantity'),
      initCode: ref('Bytes'),
      factory: ref('Address'),
      factoryData: ref('Bytes'),
      callData: ref('Bytes'),
      callGasLimit: ref('Quantity'),
      verificationGasLimit: ref('Quantity'),
      preVerificationGas: ref('Quantity'),
      maxFeePerGas: ref('Quantity'),
      maxPriorityFeePerGas: ref('Quantity'),
      accountGasLimits: ref('Bytes'),
      gasFees: ref('Bytes'),
      signature: ref('Bytes'),
      eip7702Auth: { type: 'object' },
    },
  },
  Mode: { type: 'object', required: ['mode'], properties: modeProperties() },
  Context: {
    description: 'The same as Mode; absent, null or without a mode it means SPONSORED.',
    oneOf: [{ type: 'null' }, { type: 'object', properties: modeProperties() }],
  },
  ExplainMode: {
    type: 'object',
    properties: {
      ...modeProperties(),
      callWebhook: { type: 'boolean', default: false, description: 'Whether webhooks are asked.' },
    },
  },
  Sponsorship: {
    type: 'object',
    required: [
      'mode',
      'MODE',
      'paymasterAndData',
      'preVerificationGas',
      'verificationGasLimit',
      'callGasLimit',
    ],
    properties: {
      mode: { const: 'SPONSORED' },
      MODE: { const: 'SPONSORED' },
      paymasterAndData: {
        ...ref('Bytes'),
        description: '0x when the operation is not sponsored: the user pays.',
      },
      preVerificationGas: { type: 'string', pattern: '^[0-9]+$' },
      verificationGasLimit: { type: 'integer' },
      callGasLimit: { type: 'integer' },
      paymaster: { ...ref('Address'), description: 'EntryPoint 0.7+.' },
      paymasterData: ref('Bytes'),
      paymasterVerificationGasLimit: { type: 'integer' },
      paymasterPostOpGasLimit: { type: 'integer' },
      reason: {
        ...ref('RefusalReason'),
        description: 'Why it is 0x; also in the header X-Sponsorship-Reason.',
      },
    },
  },
  PaymasterFields: {
    type: 'object',
    properties: {
      paymasterAndData: { ...ref('Bytes'), description: 'EntryPoint 0.6.' },
      paymaster: { ...ref('Address'), description: 'EntryPoint 0.7+, with the fields that follow.' },
      paymasterData: ref('Bytes'),
      paymasterVerificationGasLimit: { type: 'string' },
      paymasterPostOpGasLimit: { type: 'string' },
      isFinal: { type: 'boolean' },
    },
  },
  Explanation: {
    type: 'object',
    required: ['sponsored', 'paymaster', 'steps', 'account', 'calls', 'limits', 'deposits', 'webhooks'],
    properties: {
      sponsored: { type: 'boolean' },
      reason: ref('RefusalReason'),
      paymaster: { type: 'object' },
      steps: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            step: { type: 'string' },
            verdict: { enum: ['pass', 'refuse', 'skipped', 'error'] },
            reason: ref('RefusalReason'),
            detail: { type: 'string' },
            remedy: { type: 'string' },
          },
        },
      },
      account: { type: 'string' },
      calls: { type: 'array', items: { type: 'object' } },
      gas: { type: 'object' },
      limits: { type: 'array', items: { type: 'object' } },
      deposits: { type: 'array', items: { type: 'object' } },
      webhooks: { type: 'array', items: { type: 'object' } },
    },
  },
  ErrorData: {
    type: 'object',
    required: ['reason', 'requestId', 'retryable'],
    properties: {
      reason: { type: 'string' },
      requestId: { type: 'string' },
      retryable: { type: 'boolean' },
      retryAfterSeconds: { type: 'number' },
      problems: { type: 'array', items: { type: 'object' } },
    },
  },
} as const;

function modeProperties() {
  return {
    mode: { type: 'string', description: 'SPONSORED or SPONSORSHIP, in any case.' },
    calculateGasLimits: {
      type: 'boolean',
      description: 'Absent: false when all limits are given, else true.',
    },
    expiryDuration: { type: 'integer', minimum: 1, default: 300, description: 'Seconds.' },
    sponsorshipInfo: {
      type: 'object',
      properties: { webhookData: { type: 'object' }, smartAccountInfo: { type: 'object' } },
    },
  } as const;
}

function ref<Name extends string>(name: Name) {
  return { $ref: `#/components/schemas/${name}` } as const;
}
