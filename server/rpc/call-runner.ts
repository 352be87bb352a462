import { createOutageLog } from '../../adapters/log/outage-log.js';
import type { Ambient } from '../../core/ambient.js';
import type { ErrorCode } from '../../core/error-codes.js';
import { DomainError, isDomainError } from '../../core/errors.js';
import type { LogFields } from '../../core/log.js';
import { after, type Later, recover } from '../../core/pending.js';
import { isRefusalReason, type RefusalReason, refusals } from '../../core/refusal.js';
import type { Instruments, RpcOutcome } from '../ops/instruments.js';
import { createPaymasterLabels } from '../ops/paymaster-labels.js';
import type { RecentRefusals } from '../ops/recent-refusals.js';
import type { CallKind } from './call-turns.js';
import {
  type BadCall,
  renderError,
  renderFailure,
  renderRefusal,
  renderResult,
  type RpcCall,
} from './envelope.js';
import type { HttpAnswer } from './http-answer.js';
import type { RpcContext, RpcMethod, RpcResult } from './method.js';
import type { RpcMethods } from './methods.js';

/** The answer to one call: `body` is a whole JSON-RPC answer, `status` is the HTTP status if the call is not part of a batch. */
export type CallAnswer = Omit<HttpAnswer, 'close'>;

/** Runs calls and measures them: every call is counted once, by method and outcome, and timed. */
export type CallRunner = ReturnType<typeof createCallRunner>;

type CallRunnerDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly methods: RpcMethods;
  readonly instruments: Pick<
    Instruments,
    'rpcRequests' | 'rpcDuration' | 'refusals' | 'openSponsorships' | 'paymasterOperations'
  >;
  /** Remembers refusals. Default: they are not remembered. */
  readonly recentRefusals?: Pick<RecentRefusals, 'note'>;
};

/** Label for every method that is not served: a caller must not be able to create new series. */
const unknownMethod = 'unknown';

export function createCallRunner(deps: CallRunnerDeps) {
  const { methods, instruments, log, clock, recentRefusals } = deps;
  const served = new Map<string, { readonly method: RpcMethod; readonly meter: Meter }>();
  for (const [name, method] of Object.entries(methods))
    served.set(name, { method, meter: createMeter(instruments, name) });
  /** Of calls that reach no method. */
  const unserved = { meter: createMeter(instruments, unknownMethod), method: unknownMethod, withOk: false };
  const refused = bindRefusals(instruments);
  const open = instruments.openSponsorships.with({});
  const { paymasterOperations } = instruments;
  const sponsoredCounter = createPaymasterLabels((paymaster) =>
    paymasterOperations.with({ paymaster, verdict: 'sponsored' }),
  );
  const refusedCounter = createPaymasterLabels((paymaster) =>
    paymasterOperations.with({ paymaster, verdict: 'refused' }),
  );
  const requests = createRequestLog({ log, clock });
  const outages = createOutageLog({
    log,
    clock,
    messages: {
      begins: 'JSON-RPC calls find something unavailable',
      goesOn: 'JSON-RPC calls still find something unavailable',
      ends: 'JSON-RPC calls find it available again',
    },
  });

  function answerError(
    id: string,
    error: unknown,
    call: { requestId: string; meter: Meter; method: string; withOk: boolean },
  ): CallAnswer {
    const { requestId, meter, method, withOk } = call;
    const rendered = renderError(error, requestId);
    const code: ErrorCode = isDomainError(error) && !rendered.fault ? error.code : 'INTERNAL';
    if (rendered.fault) requests.note('error', 'JSON-RPC call failed', { requestId, method, error });
    else if (code === 'UNAVAILABLE') outages.failed(rendered.reason, { requestId, method, error });
    meter.count(code);
    return {
      body: renderFailure(id, rendered.body),
      status: withOk ? 200 : rendered.status,
      retryAfterSeconds: rendered.retryAfterSeconds,
    };
  }

  /** Counts and logs a refusal, whether it was answered as a result or as an error. */
  function noteRefusal(
    reason: RefusalReason,
    detail: string | undefined,
    { method, meter, context }: { method: string; meter: Meter; context: RpcContext },
  ): void {
    meter.count('refused');
    refused.count(reason);
    const { requestId, paymaster } = context;
    const { paymasterId, key } = paymaster;
    refusedCounter(paymasterId).inc();
    requests.note('info', 'not sponsored', {
      requestId,
      method,
      paymasterId,
      key: key?.name,
      reason,
      detail,
    });
    recentRefusals?.note({ at: clock.now(), requestId, method, paymasterId, reason, detail });
  }

  return {
    kindOf: (method: string): CallKind => served.get(method)?.method.kind ?? 'ordinary',

    run(call: RpcCall, context: RpcContext): Later<CallAnswer> {
      const { requestId } = context;
      const entry = served.get(call.method);
      if (entry === undefined) {
        const error = new DomainError(
          'RPC_METHOD_NOT_FOUND',
          `Method not found; served are ${[...served.keys()].join(', ')}.`,
        );
        return answerError(call.id, error, { ...unserved, requestId });
      }
      const { method, meter } = entry;
      const started = performance.now();
      const answer = (result: RpcResult): CallAnswer => {
        meter.time(started);
        if (result.refusal !== undefined)
          noteRefusal(result.refusal, result.detail, { method: call.method, meter, context });
        else meter.count(result.outcome ?? 'sponsored');
        const isSponsored = result.refusal === undefined && result.outcome === undefined;
        if (isSponsored) sponsoredCounter(context.paymaster.paymasterId).inc();
        if (result.isOpen === true) open.inc();
        return {
          body: renderResult(call.id, result.json),
          status: 200,
          refusal: result.refusal,
          isOpen: result.isOpen,
        };
      };
      const answerThrown = (error: unknown): CallAnswer => {
        meter.time(started);
        const withOk = method.answersErrorsWithOk?.(call.params) ?? false;
        const refusal = findRefusal(error);
        if (refusal === undefined)
          return answerError(call.id, error, { requestId, meter, method: call.method, withOk });
        noteRefusal(refusal.reason, refusal.detail, { method: call.method, meter, context });
        const render = withOk ? renderRefusal : renderError;
        const { body, status, retryAfterSeconds } = render(refusal.error, requestId);
        return {
          body: renderFailure(call.id, body),
          status: withOk ? 200 : status,
          refusal: refusal.reason,
          retryAfterSeconds,
        };
      };
      return recover(() => after(method.handle(call.params, context), answer), answerThrown);
    },

    /** Answers a call that never reached a method, or a value that is not a call: then only `id` is known. */
    fail(call: Pick<RpcCall, 'id'> & Partial<RpcCall>, error: unknown, requestId: string): CallAnswer {
      const { method = '', params = [] } = call;
      const entry = served.get(method);
      if (entry === undefined) return answerError(call.id, error, { ...unserved, requestId });
      const withOk = entry.method.answersErrorsWithOk?.(params) ?? false;
      return answerError(call.id, error, { requestId, meter: entry.meter, method, withOk });
    },

    reject({ id, error }: BadCall, requestId: string): CallAnswer {
      return answerError(id, error, { ...unserved, requestId });
    },
  };
}

type Meter = { count(outcome: RpcOutcome): void; time(started: number): void };

/** Keeps the bound metric of each outcome from its first occurrence, since binding labels costs more than counting. */
function createMeter({ rpcRequests, rpcDuration }: CallRunnerDeps['instruments'], method: string): Meter {
  const bound = new Map<RpcOutcome, { inc(by?: number): void }>();
  const duration = rpcDuration.with({ method });
  for (const outcome of ['sponsored', 'refused'] as const)
    bound.set(outcome, rpcRequests.with({ method, outcome }));
  return {
    count(outcome) {
      let counter = bound.get(outcome);
      if (counter === undefined) {
        counter = rpcRequests.with({ method, outcome });
        bound.set(outcome, counter);
      }
      counter.inc();
    },
    time: (started) => duration.observe((performance.now() - started) / 1000),
  };
}

function bindRefusals({ refusals: counter }: CallRunnerDeps['instruments']) {
  const bound = new Map<string, { inc(by?: number): void }>();
  for (const reason of Object.keys(refusals)) bound.set(reason, counter.with({ reason }));
  return { count: (reason: RefusalReason) => bound.get(reason)?.inc() };
}

/** The refusal in an error: mode ERC20 and the forms that name an EntryPoint answer a refusal as an error. */
function findRefusal(
  error: unknown,
): { reason: RefusalReason; detail: string | undefined; error: DomainError } | undefined {
  if (!isDomainError(error)) return undefined;
  const { reason = '', detail } = error.details;
  return isRefusalReason(reason) ? { reason, detail, error } : undefined;
}

/**
 * Log lines about single requests, limited per second: a line costs a tenth of a signature, and callers must not decide
 * how large the log grows. Dropped lines are counted, and the next line that is written says how many they were.
 */
type RequestLog = { note(level: 'info' | 'error', message: string, fields: LogFields): void };

const linesPerSecond = 20;

export function createRequestLog({ log, clock }: Pick<Ambient, 'clock' | 'log'>): RequestLog {
  let second = 0;
  let written = 0;
  let leftOut = 0;
  return {
    note(level, message, fields) {
      const now = Math.floor(clock.now() / 1000);
      if (now !== second) {
        second = now;
        written = 0;
      }
      if (written >= linesPerSecond) {
        leftOut += 1;
        return;
      }
      written += 1;
      log[level](message, leftOut === 0 ? fields : { ...fields, linesLeftOut: leftOut });
      leftOut = 0;
    },
  };
}
