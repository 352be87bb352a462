import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fieldOf, parseJson } from '../../../../core/schema/json-value.js';
import { given } from '../../../../core/units/given.js';
import { CallFailed } from '../../call-failed.js';
import type { Http } from '../../http.js';
import type { Environment } from '../../kind.js';
import type { Credentials } from '../kept-credentials.js';
import type { AwsCredentials } from './signature.js';

export const credentialVariables = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_ROLE_ARN',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'AWS_ROLE_SESSION_NAME',
  'AWS_ENDPOINT_URL_STS',
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
  'AWS_SHARED_CREDENTIALS_FILE',
  'AWS_PROFILE',
];

type From = {
  readonly environment: Environment;
  readonly http: Http;
  /** AWS's part of the world, where roles are asked for: region, and the end of host names. */
  readonly region: string;
  readonly suffix: string;
};

/**
 * Credentials in the order of AWS's own clients: the environment, a role by the pod's token (IRSA), EKS Pod Identity (or whatever
 * gives containers credentials), the file of profiles. The metadata server of a machine is not asked: a pod would get the rights of
 * its node. Throws CallFailed.
 */
export async function readAwsCredentials(
  from: From,
  signal: AbortSignal,
): Promise<Credentials<AwsCredentials>> {
  const { environment } = from;
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment;
  if (accessKeyId !== undefined && secretAccessKey !== undefined) {
    const sessionToken = environment['AWS_SESSION_TOKEN'];
    return { value: { accessKeyId, secretAccessKey, ...given({ sessionToken }) } };
  }
  const { AWS_ROLE_ARN: role, AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile } = environment;
  if (role !== undefined && tokenFile !== undefined) return assumeRole(from, { role, tokenFile }, signal);
  const uri = environment['AWS_CONTAINER_CREDENTIALS_FULL_URI'];
  if (uri !== undefined) return askContainer(from, uri, signal);
  return readProfile(environment);
}

async function assumeRole(
  { environment, http, region, suffix }: From,
  { role, tokenFile }: { readonly role: string; readonly tokenFile: string },
  signal: AbortSignal,
): Promise<Credentials<AwsCredentials>> {
  const endpoint = environment['AWS_ENDPOINT_URL_STS'] ?? `https://sts.${region}.${suffix}`;
  const body = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: environment['AWS_ROLE_SESSION_NAME'] ?? 'paymaster-operator',
    WebIdentityToken: await readMounted(tokenFile, 'AWS_WEB_IDENTITY_TOKEN_FILE'),
  }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await http.ask({ method: 'POST', url: `${endpoint}/`, headers, body }, signal);
  const member = (name: string): string | undefined =>
    answer.body.split(`<${name}>`, 2)[1]?.split(`</${name}>`, 1)[0];
  if (answer.status !== 200) {
    const code = member('Code') ?? '';
    throw noCredentials(
      `STS answers HTTP ${answer.status} ${code} for AWS_ROLE_ARN`,
      passing.has(code) ? 503 : answer.status,
    );
  }
  return credentialsOf({
    AccessKeyId: member('AccessKeyId'),
    SecretAccessKey: member('SecretAccessKey'),
    Token: member('SessionToken'),
    Expiration: member('Expiration'),
  });
}

/** With status 400, and over by themselves. */
const passing = new Set(['Throttling', 'IDPCommunicationError']);

async function askContainer(
  { environment, http }: From,
  url: string,
  signal: AbortSignal,
): Promise<Credentials<AwsCredentials>> {
  const tokenFile = environment['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE'];
  const authorization =
    tokenFile === undefined
      ? undefined
      : await readMounted(tokenFile, 'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE');
  const { status, body } = await http.ask({ method: 'GET', url, headers: given({ authorization }) }, signal);
  if (status !== 200)
    throw noCredentials(`AWS_CONTAINER_CREDENTIALS_FULL_URI answers HTTP ${status}`, status);
  return credentialsOf(parseJson(body));
}

function credentialsOf(answer: unknown): Credentials<AwsCredentials> {
  const member = (name: string): string => {
    const value = fieldOf(answer, name);
    if (typeof value !== 'string')
      throw new CallFailed('unreached', `AWS answers credentials without ${name}`);
    return value;
  };
  const expiresAt = Date.parse(member('Expiration'));
  if (Number.isNaN(expiresAt))
    throw new CallFailed('unreached', 'AWS answers credentials without an Expiration');
  const accessKeyId = member('AccessKeyId');
  return {
    value: { accessKeyId, secretAccessKey: member('SecretAccessKey'), sessionToken: member('Token') },
    expiresAt,
  };
}

/** `[name]` and lines `key = value`. */
async function readProfile(environment: Environment): Promise<Credentials<AwsCredentials>> {
  const path = environment['AWS_SHARED_CREDENTIALS_FILE'] ?? join(homedir(), '.aws', 'credentials');
  const text = await readFile(path, 'utf8').catch(() => undefined);
  const wanted = `[${environment['AWS_PROFILE'] ?? 'default'}]`;
  const lines = text?.split('\n').map((line) => line.trim()) ?? [];
  const start = lines.indexOf(wanted);
  const rest = start === -1 ? [] : lines.slice(start + 1);
  const end = rest.findIndex((line) => line.startsWith('['));
  const values = new Map(
    rest.slice(0, end === -1 ? undefined : end).map((line) => {
      const [name = '', ...value] = line.split('=');
      return [name.trim(), value.join('=').trim()] as const;
    }),
  );
  const [accessKeyId, secretAccessKey] = [
    values.get('aws_access_key_id'),
    values.get('aws_secret_access_key'),
  ];
  if (accessKeyId === undefined || secretAccessKey === undefined) throw noCredentials('there are none', 403);
  const sessionToken = values.get('aws_session_token');
  return { value: { accessKeyId, secretAccessKey, ...given({ sessionToken }) } };
}

async function readMounted(path: string, variable: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    throw noCredentials(`the file of ${variable} cannot be read`, 403);
  }
}

function noCredentials(what: string, status: number): CallFailed {
  return new CallFailed(
    status === 429 || status >= 500 ? 'unreached' : 'refused',
    `no AWS credentials: ${what}. Set AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE (IRSA sets both), AWS_CONTAINER_CREDENTIALS_FULL_URI (EKS Pod Identity), AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SHARED_CREDENTIALS_FILE`,
  );
}
