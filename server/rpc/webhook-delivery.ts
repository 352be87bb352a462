import type { Ambient } from '../../core/ambient.js';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { findRestRow } from '../../core/error-codes.js';
import { isDomainError } from '../../core/errors.js';
import { deliverTest, deliveriesAtOnce, parseSample, type Sample } from '../http/test-delivery.js';
import type { PolicyHosts } from '../../core/policy/policy-hosts.js';
import type { BodyAdmission } from '../http/body-admission.js';
import { clientAddress, single } from '../http/client-address.js';
import { parseJson } from '../http/json.js';
import { hashCredential } from '../../core/config/api-key.js';
import type { ConfigView } from '../view/config-view.js';
import { isOwner, type ServedPaymaster } from '../view/served-paymaster.js';
import { isRead, readBody, bodyText, type ReadBody, type UnreadBody } from './body.js';
import { writeAnswer, writePreflight } from './http-answer.js';
import type { RateLimiter } from '../http/rate-limit.js';
import type { RequestIds } from '../http/request-id.js';

type WebhookDeliveryDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly view: Pick<ConfigView, 'find' | 'load'>;
  readonly webhooks: Pick<PolicyHosts, 'call'>;
  readonly bodies: BodyAdmission;
  readonly rateLimiter: RateLimiter;
  readonly requestIds: RequestIds;
};

const path = /^\/+api\/+v1\/+webhooks\/+([0-9a-f-]{36})\/+deliveries\/*$/;

/**
 * Answers `POST /api/v1/webhooks/{policyId}/deliveries` with the headers authToken and apiKey. Calls the host of a policy from the
 * same process and with the same request as a sponsorship, and answers the result. It sponsors nothing. All members of the body are
 * optional: `{"webhookData": …, "userOp": {…}}`. False when the request is for another path.
 */
export function createWebhookDelivery(
  deps: WebhookDeliveryDeps,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  return (request, response) => {
    const policyId = path.exec(request.url ?? '')?.[1];
    if (policyId === undefined) return false;
    if (request.method === 'OPTIONS') {
      writePreflight(response, single(request.headers['access-control-request-headers']));
      return true;
    }
    const requestId = deps.requestIds.next(single(request.headers['x-request-id']));
    deliver(deps, request, policyId, requestId)
      .catch((error: unknown) => failure(deps, error, requestId))
      .then(({ status, body }) => {
        writeAnswer(response, { status, body: JSON.stringify(body), close: status === 413 }, requestId);
      })
      .catch((error: unknown) => deps.log.error('answer of a test delivery not written', { error }));
    return true;
  };
}

type Answer = { readonly status: number; readonly body: object };

async function deliver(
  deps: WebhookDeliveryDeps,
  request: IncomingMessage,
  policyId: string,
  requestId: string,
): Promise<Answer> {
  if (request.method !== 'POST') return createAnswer(405, 'The HTTP method must be POST');
  const paymaster = await ownedPaymaster(deps, request);
  if (paymaster === undefined) return createAnswer(401, 'Auth token and API key is required in the headers');
  const all = [...paymaster.webhooks, ...(paymaster.shadowWebhooks ?? [])];
  const webhook = all.find((each) => each.policyId === policyId);
  if (webhook === undefined)
    return createAnswer(404, 'Paymaster Policy not found among the webhooks that are active and valid');
  const wait = deps.rateLimiter.take(`${paymaster.paymasterId} deliveries`, deliveriesAtOnce);
  if (wait > 0) return createAnswer(429, `Too many test deliveries: try again in ${wait} s`);
  const sample = await readSample(deps, request, paymaster);
  const { paymasterId, namespace: organisation } = paymaster;
  const data = await deliverTest(deps.webhooks, webhook, sample, { paymasterId, organisation, requestId });
  deps.log.info('webhook test delivery', { requestId, policyId, verdict: data.verdict });
  return { status: 200, body: { statusCode: 200, message: 'Webhook asked', data } };
}

async function ownedPaymaster(
  { view, clock }: WebhookDeliveryDeps,
  request: IncomingMessage,
): Promise<ServedPaymaster | undefined> {
  const apiKey = single(request.headers['apikey']);
  if (apiKey === undefined || apiKey === '') return undefined;
  const sha256 = hashCredential(apiKey);
  const paymaster = view.find(sha256) ?? (await view.load(sha256, clientAddress(request, 0)));
  const token = single(request.headers['authtoken']);
  const isOwned = paymaster !== undefined && isOwner(paymaster, token && hashCredential(token), clock.now());
  return isOwned ? paymaster : undefined;
}

async function readSample(
  { bodies }: WebhookDeliveryDeps,
  request: IncomingMessage,
  { paymasterId }: ServedPaymaster,
): Promise<Sample> {
  const admitted = bodies.admit(paymasterId, clientAddress(request, 0));
  try {
    const body = await new Promise<ReadBody | UnreadBody | undefined>((resolve) =>
      readBody(request, admitted, bodies.limits, resolve),
    );
    if (body !== undefined && !isRead(body)) throw body.error;
    const text = bodyText(body ?? '');
    return parseSample(text === '' ? {} : parseJson(text));
  } finally {
    admitted.release();
  }
}

function failure({ log }: WebhookDeliveryDeps, error: unknown, requestId: string): Answer {
  if (!isDomainError(error)) {
    log.error('webhook test delivery failed', { requestId, error });
    return createAnswer(500, 'Internal error');
  }
  const { status, message = error.message } = findRestRow(error.code);
  return createAnswer(status, message);
}

function createAnswer(statusCode: number, message: string): Answer {
  return { status: statusCode, body: { statusCode, message } };
}
