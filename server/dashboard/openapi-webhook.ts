import type { JsonSchema } from './openapi-records.js';

const text: JsonSchema = { type: 'string' };

/** What a host of a WEBHOOK rule is sent, and what it must answer: the request is made by this service, not to it. */
export const webhookCall: JsonSchema = {
  checkOperation: {
    post: {
      summary: 'Asks the host of a WEBHOOK rule whether an operation passes.',
      description:
        'Sent to the url of the rule, by GET with webhookData as query parameters alone when its method is GET. X-Signature is HMAC-SHA256, 64 lowercase hex digits, with the signingKey of the rule over "<X-Timestamp>.<payload>": the raw body of a POST, path and query of a GET. Refuse timestamps (Unix seconds) older than a few minutes. Answer within 3 s; there is one retry after a connection error or HTTP 5xx, and no redirect is followed. HTTP 4xx is a "no" (but 404, 408, 410, 421, 425 and 429, which are failures as HTTP 5xx is). One paymaster has at most 64 calls under way at a host.',
      parameters: ['X-Signature', 'X-Timestamp', 'X-Policy-Id', 'X-Request-Id'].map((name) => ({
        name,
        in: 'header',
        required: true,
        schema: text,
      })),
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: {
              type: 'object',
              required: ['data', 'userOp'],
              properties: {
                data: { description: 'sponsorshipInfo.webhookData of the request; {} when absent.' },
                userOp: {
                  type: 'object',
                  description:
                    'The operation as it will be signed: ERC-4337 names, hex quantities. Its signature is sent as "0x" when it has more than 2,048 bytes: nothing that is signed here covers it, so do not judge by it.',
                },
              },
            },
          },
        },
      },
      responses: {
        200: {
          description: 'The verdict.',
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: ['arePoliciesVerified'],
                properties: { arePoliciesVerified: { type: 'boolean' } },
              },
            },
          },
        },
      },
    },
  },
};
