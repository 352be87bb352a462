import { maxReasonLength } from '../../core/policy/webhook/host-reason.js';
import { openRecord, record, type JsonSchema } from '../../core/schema/json-schema.js';
import { sampleOperation } from '../http/test-delivery.js';

const text: JsonSchema = { type: 'string' };

const headers: Readonly<Record<string, { readonly description: string; readonly example: string }>> = {
  'X-Signature': {
    description:
      '"v2=" and HMAC-SHA256 as 64 lowercase hex digits, over these lines with one line feed after each but the last: "v2"; X-Timestamp; X-Policy-Id; "live", or "test" when there is a header X-Test-Delivery; the method; the path with its query, as received; the raw body, which is empty for a GET. The key is the text `signingKey` of the policy, its characters as UTF-8 bytes: do not decode it from hex.',
    example: 'v2=d6a1f6b2a3f8ad6a8b3c2f2f2d6f0a52a98c3f3c0f6f2b7ac7b8f6d1d7c6b0e4',
  },
  'X-Timestamp': {
    description:
      'Unix seconds of the request. Refuse what is more than five minutes away: it may be a replay.',
    example: '1767225600',
  },
  'X-Policy-Id': {
    description: 'The `_id` of the policy, for a host that serves several. It is signed.',
    example: '7e0b4a52-6d7f-5d8a-9a51-0f3b1f1f6a11',
  },
  'X-Request-Id': {
    description: 'The same in the log of the service, and of both attempts of a call.',
    example: '01JHZX3',
  },
};

const rotation: JsonSchema = {
  name: 'X-Signature-Next',
  in: 'header',
  required: false,
  schema: text,
  description:
    'While the key is being rotated (`previousKeyUntil`): the same by the new key. X-Signature is by the old one until then. Accept a request when one of the two is right.',
};

const test: JsonSchema = {
  name: 'X-Test-Delivery',
  in: 'header',
  required: false,
  schema: { const: 'true' },
  description: 'A test delivery of the owner: nothing is sponsored by the answer. The signature says so too.',
};

const requestExample = {
  data: { plan: 'gold' },
  userOp: {
    ...sampleOperation,
    sender: '0x1234567890123456789012345678901234567890',
    callData: '0xb61d27f6',
  },
};

/** What this service sends to the host of a WEBHOOK rule, and what the host must answer. */
export const webhookCall: JsonSchema = {
  checkOperation: {
    post: {
      operationId: 'checkOperation',
      // The signature proves who asks.
      security: [],
      summary: 'Asks the host of a WEBHOOK rule whether an operation passes.',
      description: [
        'Sent to the `url` of the rule; by GET, with the members of webhookData as query parameters and no body, when its `method` is GET.',
        '**Time.** The answer must be there within `timeoutSeconds` of the rule (0.5 to 10, default 3), one retry included. The wallet waits as long.',
        '**Retries.** One, 50 ms after a connection error or HTTP 5xx, with the same X-Request-Id. An answer must not depend on how often it is asked. No redirect is followed.',
        '**Meaning.** HTTP 200 with a boolean `arePoliciesVerified` is an answer. HTTP 4xx is a "no" (but 404, 408, 410, 421, 425 and 429). Everything else is a failure: it refuses, unless `onError` is Allow. After ten failures in a row the host is left alone for five seconds.',
        '**Load.** One paymaster has at most 64 open calls to a host. An answer has at most 64 KiB.',
        'A verifier in 15 lines, and whole hosts in JavaScript, Python and Go: examples/webhook-host. A test delivery: `POST /api/v1/webhooks/{policyId}/deliveries`.',
      ].join('\n\n'),
      parameters: [
        ...Object.entries(headers).map(([name, { description, example }]) => ({
          name,
          in: 'header',
          required: true,
          schema: text,
          description,
          example,
        })),
        rotation,
        test,
      ],
      requestBody: {
        required: true,
        description: 'Of a POST. Verify the bytes as received, before they are parsed.',
        content: {
          'application/json': {
            schema: openRecord({
              data: {
                description:
                  'sponsorshipInfo.webhookData of the request; {} when absent. Its sender chose it: trust nothing in it that you cannot check.',
              },
              userOp: {
                type: 'object',
                description:
                  'The operation as it will be signed: ERC-4337 names, hex quantities. Its signature is sent as "0x" when it has more than 2,048 bytes: nothing that is signed here covers it, so do not judge by it.',
              },
            }),
            examples: { operation: { value: requestExample } },
          },
        },
      },
      responses: {
        200: {
          description: 'The verdict.',
          content: {
            'application/json': {
              schema: openRecord(
                {
                  arePoliciesVerified: {
                    type: 'boolean',
                    description: 'A boolean: "true" and 1 are failures.',
                  },
                },
                {
                  reason: {
                    ...text,
                    description: `Of a "no": shown in explanations, and to the caller as webhookReason, as one line of at most ${maxReasonLength} characters.`,
                  },
                },
              ),
              examples: {
                yes: { value: { arePoliciesVerified: true } },
                no: { value: { arePoliciesVerified: false, reason: 'not a member of the club' } },
              },
            },
          },
        },
        '4XX': { description: 'A "no", but for 404, 408, 410, 421, 425 and 429, which are failures.' },
        '5XX': { description: 'A failure; asked once more.' },
      },
    },
  },
};

/** Of both endpoints that send a test delivery. */
export const deliveryBody: Readonly<Record<string, JsonSchema>> = {
  webhookData: { description: 'What the host gets as `data`. Default: {}.' },
  userOp: { type: 'object', description: 'The operation that it gets. Default: one that calls nothing.' },
};

export const deliverySchema = record(
  {
    verdict: {
      enum: ['verified', 'refused', 'failed', 'blocked'],
      description:
        'failed: no answer that counts, and onError decides. blocked: we do not call such an address, or the answer is too long.',
    },
    wouldPass: { type: 'boolean', description: 'Whether an operation would pass this policy.' },
    durationMs: { type: 'integer', minimum: 0, description: 'A second attempt included.' },
    requestId: { ...text, description: 'As the host got it in X-Request-Id.' },
  },
  {
    reason: { ...text, description: 'Why the host refuses, as callers see it.' },
    detail: { ...text, description: 'What went wrong, e.g. the HTTP status. No body is shown.' },
  },
);

export const deliveryExample = {
  verdict: 'refused',
  reason: 'not a member of the club',
  wouldPass: false,
  durationMs: 41,
  requestId: '0f8fad5b-d9cb-569f-a165-70867728950e',
};

/** Served beside JSON-RPC, since the rpc role calls the hosts. */
export const deliveryPath: JsonSchema = {
  servers: [{ url: '/', description: 'The host of the JSON-RPC API.' }],
  post: {
    operationId: 'deliverWebhookTest',
    summary: 'Ask the host of an active WEBHOOK rule as a sponsorship would, and see what came of it',
    security: [{ authToken: [], apiKey: [] }],
    parameters: [
      { name: 'policyId', in: 'path', required: true, schema: text, description: '`_id` of the rule.' },
    ],
    requestBody: {
      required: false,
      content: {
        'application/json': {
          schema: openRecord({}, deliveryBody),
          examples: { member: { value: renderRequestExample(requestExample) } },
        },
      },
    },
    responses: {
      200: {
        description: 'The host was asked, or why not: the verdict says so.',
        content: {
          'application/json': {
            schema: record({
              statusCode: { const: 200 },
              message: { const: 'Webhook asked' },
              data: deliverySchema,
            }),
            examples: {
              refused: {
                value: {
                  statusCode: 200,
                  message: 'Webhook asked',
                  data: deliveryExample,
                },
              },
            },
          },
        },
      },
      401: { description: 'A missing or wrong header.' },
      404: { description: 'The paymaster has no active webhook rule of this id.' },
      429: { description: 'More than ten deliveries in ten seconds.' },
      503: { description: 'Too many calls to the host wait already.' },
    },
  },
};

function renderRequestExample({ data, userOp }: typeof requestExample): object {
  return { webhookData: data, userOp };
}
