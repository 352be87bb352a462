// Codes that undici, the resolver and sockets report when no connection could be used, or it ended too early.
const connectionErrors = new Set([
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'EAI_AGAIN',
  'ESERVFAIL',
  'EREFUSED',
  'ETIMEOUT',
  'ECONNABORTED',
]);

/** Whether another attempt on a fresh connection may succeed. */
export function isConnectionError(code: string): boolean {
  return connectionErrors.has(code);
}

/** The code of a network error; when several addresses all failed, the code of the first. */
export function networkErrorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null) return 'UNKNOWN';
  if ('code' in error && typeof error.code === 'string') return error.code;
  if ('errors' in error && Array.isArray(error.errors) && error.errors.length > 0)
    return networkErrorCode(error.errors[0]);
  return 'name' in error && typeof error.name === 'string' ? error.name : 'UNKNOWN';
}
