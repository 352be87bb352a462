/** Where `make e2e` works and with what; every setting is an environment variable with a default but the image. */
export type E2eConfig = {
  /** Tool paths. */
  readonly kubectl: string;
  readonly helm: string;
  /** Image under test, `name:tag`; it must be on the nodes or be loaded by `loadImage`. */
  readonly image: { readonly repository: string; readonly tag: string };
  readonly postgresImage: { readonly repository: string; readonly tag: string };
  /** Shell command that brings the images to the nodes, run first. */
  readonly loadImage?: string;
  /** Address of this machine as pods see it: the chain listens there. */
  readonly chainHost: string;
  /** How long RPC load runs around each fault at least, in seconds. */
  readonly loadSeconds: number;
  /** Leave everything installed at the end, to look at. */
  readonly keep: boolean;
};

/** Parses the environment once; throws one Error that lists every mistake. */
export function parseE2eConfig(env: NodeJS.ProcessEnv): E2eConfig {
  const mistakes: string[] = [];
  const imageOf = (name: string, fallback: string) => {
    const text = env[name] || fallback;
    const match = /^(.+):([A-Za-z0-9_][A-Za-z0-9_.-]*)$/.exec(text);
    if (match === null) mistakes.push(`${name} must be an image as name:tag, got "${text}"`);
    return { repository: match?.[1] ?? '', tag: match?.[2] ?? '' };
  };
  const seconds = env['LOAD_SECONDS'] || '5';
  if (!/^[1-9][0-9]{0,3}$/.test(seconds))
    mistakes.push(`LOAD_SECONDS must be a whole number of seconds, got "${seconds}"`);
  const chainHost = env['CHAIN_HOST'] || '';
  if (!/^[0-9]{1,3}(\.[0-9]{1,3}){3}$/.test(chainHost))
    mistakes.push(
      `CHAIN_HOST must be this machine's IPv4 address as pods see it (kind: the gateway of its Docker network), got "${chainHost}"`,
    );
  const config: E2eConfig = {
    kubectl: env['KUBECTL'] || 'kubectl',
    helm: env['HELM'] || 'helm',
    image: imageOf('IMAGE', ''),
    postgresImage: imageOf('POSTGRES_IMAGE', 'docker.io/library/postgres:17-bookworm'),
    ...(env['LOAD_IMAGE'] ? { loadImage: env['LOAD_IMAGE'] } : {}),
    chainHost,
    loadSeconds: Number(seconds),
    keep: env['KEEP'] === '1',
  };
  if (mistakes.length > 0) throw new Error(mistakes.join('\n'));
  return config;
}
