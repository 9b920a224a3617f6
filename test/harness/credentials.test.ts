import { describe, expect, it } from "vitest";
import { holdsCredentials, namesASecret } from "../../harness/credentials";

describe("an address or connection string with credentials", () => {
  it.each([
    "postgres://u:secret@h/db",
    "postgresql+psycopg2://u:secret@h:5432/db",
    "postgres://u:sec/ret#1@h/db",
    "postgres://u:sec ret@h/db",
    "postgres://:secret@h/db",
    "postgres://h/db?user=u&password=secret",
    "postgres://h/db?sslpassword=secret",
    "libsql://h?authToken=secret",
    "host=h user=u password=secret dbname=d",
    "host=h password = 'secret'",
    "Server=h;Uid=u;Pwd=secret;",
    "u:secret@tcp(h:3306)/db",
    "http://secret@h/v1",
    "https://u:secret@h/v1",
    "http://h/v1?api_key=secret",
  ])("%s", (text) => {
    expect(holdsCredentials(text)).toBe(true);
  });

  it.each([
    "",
    "sqlite:////var/lib/hx/sessions.db",
    "postgres://h/db",
    "postgres://h:5432/db?sslmode=require",
    "postgres://u@h/db",
    "host=h user=u dbname=d password=",
    "http://127.0.0.1:8001/v1",
    "http://h:80/path@v1",
    "http://[::1]:11434/@x",
    "~/.claude/projects",
    "/private/var/folders/",
    "me@example.com",
    "C:\\sessions\\me@home.db",
  ])("not in %j", (text) => {
    expect(holdsCredentials(text)).toBe(false);
  });
});

describe("a name that only a secret has", () => {
  it.each(["api_key", "apiKey", "API-KEY", "token", "password", "client_secret"])("%s", (name) => {
    expect(namesASecret(name)).toBe(true);
  });
  it.each(["api_key_env", "max_tokens", "keys", "monkey"])("not %s", (name) => {
    expect(namesASecret(name)).toBe(false);
  });
});
