/** The header `Authorization` that stands for the user and password of a URL; undefined when it has neither. */
export function basicAuth({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(user).toString('base64')}`;
}
