"""Entities that prose names, read from the form of a word alone, and the words that the rules know."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator

from tidal_plugins.english.words import ANY_MONTH
from tidal_plugins.model.graph import Category, Mention
from tidal_plugins.patterns import lazy_re

CATEGORIES: dict[str, Category] = {
    **dict.fromkeys(
        "file directory function class module package tool variable config value version url error message "
        "symbol table".split(),
        "technical",
    ),
    **dict.fromkeys(
        "person group organisation place date preference concept status pet possession creation event activity subject "
        "role condition medicine diet age price".split(),
        "contextual",
    ),
    **dict.fromkeys("decision rule plan promise".split(), "behavioural"),
}
"""Every type that the rules give, with its category [SIYA §3.3]. A symbol is code whose kind the text does not say."""

TOOLS = frozenset(
    "PostgreSQL Postgres MySQL SQLite MongoDB Redis RabbitMQ Elasticsearch Memcached DynamoDB BigQuery ClickHouse "
    "CockroachDB MariaDB Docker Kubernetes Terraform Ansible Nginx nginx Grafana GitHub GitLab Bitbucket Jira Slack "
    "Python JavaScript TypeScript Kotlin PHP Linux Ubuntu Debian macOS Vim Neovim Emacs PyCharm IntelliJ Xcode "
    "AWS GCP OpenAI Anthropic GraphQL gRPC OpenTelemetry Node.js WebAssembly PowerShell Ollama Supabase Firebase "
    "Cloudflare Heroku Netlify Vercel".split()
)
"""Names of software that mean nothing else: Go, Spark, Kafka, Rust or Swift may be something else."""

PACKAGES = frozenset(
    "pytest mypy numpy NumPy pandas PyTorch TensorFlow Django FastAPI SQLAlchemy Pydantic pydantic httpx aiohttp "
    "uvicorn LangChain LangGraph LlamaIndex Next.js Vue.js Nuxt.js Express.js three.js D3.js ESLint webpack Webpack "
    "scikit-learn matplotlib Matplotlib networkx NetworkX lodash asyncio pyproject sqlite-vec tokio".split()
)
"""The same, of what a package manager installs."""

ERRNO = frozenset(
    "ENOENT ECONNREFUSED EACCES ETIMEDOUT EADDRINUSE EPIPE ECONNRESET ENOSPC EPERM EEXIST ENOTFOUND EISDIR ENOMEM "
    "SIGKILL SIGSEGV SIGTERM".split()
)
LITERALS = frozenset("true false null none nil undefined nan main master head yes no on off todo self this".split())
"""Texts in backticks that name nothing of their own."""

FILE_NAMES = frozenset(
    "Dockerfile Makefile Procfile Gemfile Rakefile Jenkinsfile Vagrantfile Pipfile .gitignore .dockerignore .env "
    ".bashrc .zshrc .editorconfig .gitattributes .npmrc .nvmrc".split()
)
EXTENSIONS = (
    r"(?:pyi?|ipynb|[jt]sx?|[cm]js|jsonl?|ya?ml|toml|ini|cfg|conf|env|md|rst|txt|csv|tsv|sql|sh|bash|zsh|ps1|bat|go|rs|"
    r"java|kts?|swift|c|h|cc|cpp|hpp|cs|rb|php|lua|scala|exs?|erl|hs|clj|dart|vue|svelte|html?|css|s[ca]ss|xml|proto|"
    r"graphql|tf|lock|log|db|sqlite3?|parquet|gradle|properties|patch|diff|png|jpe?g|svg|pdf|whl|zip|gz|tar)"
)

CUES = {
    **dict.fromkeys("function functions method methods helper handler hook decorator coroutine".split(), "function"),
    **dict.fromkeys("class classes schema model interface struct dataclass enum".split(), "class"),
    **dict.fromkeys("module modules".split(), "module"),
    **dict.fromkeys("package packages library dependency".split(), "package"),
    **dict.fromkeys("variable variables constant".split(), "variable"),
    **dict.fromkeys("setting settings option flag config".split(), "config"),
    **dict.fromkeys("file files script".split(), "file"),
    **dict.fromkeys("error exception".split(), "error"),
}
"""Words beside a piece of code that say what it is."""
DATE = lazy_re(
    r"(?<![\w.-])(?P<iso>\d{4}-\d{2}-\d{2})(?![\w-])"
    rf"|(?<![\w.])(?P<d1>\d{{1,2}})(?:st|nd|rd|th)? (?P<m1>{ANY_MONTH})\.?,? (?P<y1>(?:19|20)\d\d)(?!\w)"
    rf"|(?<!\w)(?P<m2>{ANY_MONTH})\.? (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?, (?P<y2>(?:19|20)\d\d)(?!\w)",
    re.IGNORECASE,
)
"""A date that needs no other to be understood: «Tuesday» or «March 3» name none."""

PERIOD = rf"(?:(?:{ANY_MONTH})\.?,? )?(?:19|20)\d\d(?![\w-]|[.,:/]\d)"
"""A year, or a month of one: they say since when something is so, and are nothing to come back to."""

KIN = {
    **{
        word: f"{word}_of"
        for word in (
            "sister brother mother father daughter son wife husband partner aunt uncle cousin niece nephew "
            "grandmother grandfather friend neighbour colleague manager girlfriend boyfriend flatmate landlord "
            "godmother godfather mentor teacher coach stepmother stepfather stepson stepdaughter twin widow"
        ).split()
    },
    **dict.fromkeys("mum mom mam mama".split(), "mother_of"),
    **dict.fromkeys("dad papa".split(), "father_of"),
    **dict.fromkeys("gran grandma granny nan".split(), "grandmother_of"),
    **dict.fromkeys("grandpa grandad granddad".split(), "grandfather_of"),
    **dict.fromkeys("missus".split(), "wife_of"),
    "auntie": "aunt_of",
    **dict.fromkeys("kid kids child children sons daughters".split(), "child_of"),
    **dict.fromkeys("grandson granddaughter grandkids grandchildren".split(), "grandchild_of"),
    **dict.fromkeys("fiancé fiance fiancée fiancee".split(), "partner_of"),
    **dict.fromkeys("buddy bestie".split(), "friend_of"),
    **dict.fromkeys("neighbor".split(), "neighbour_of"),
    **dict.fromkeys("boss supervisor".split(), "manager_of"),
    **dict.fromkeys("coworker co-worker teammate".split(), "colleague_of"),
    **dict.fromkeys("roommate housemate".split(), "flatmate_of"),
    **dict.fromkeys("brother-in-law".split(), "brother_in_law_of"),
    "parents": "parent_of",
    **dict.fromkeys("sister-in-law".split(), "sister_in_law_of"),
}
"""What one person is to another, with the predicate that says so."""

FEMALE = frozenset(
    "sister mother mum mom mam mama daughter wife missus aunt niece grandmother gran grandma granny nan girlfriend "
    "godmother stepmother stepdaughter widow granddaughter fiancée sister-in-law".split()
)
MALE = frozenset(
    "brother father dad papa son husband uncle nephew grandfather grandpa grandad granddad boyfriend godfather "
    "stepfather stepson grandson fiancé brother-in-law".split()
)

OBJECT_TYPES = {
    **dict.fromkeys("likes dislikes prefers".split(), "preference"),
    **dict.fromkeys("plans wants".split(), "plan"),
    **dict.fromkeys("decided chose".split(), "decision"),
    **dict.fromkeys("appointment deadline".split(), "date"),
    **dict.fromkeys("lives_in from_place visited located_in".split(), "place"),
    **dict.fromkeys("works_at member_of".split(), "organisation"),
    **dict.fromkeys("must never always".split(), "rule"),
    "promised": "promise", "attends": "event", "plays": "activity", "studies": "subject", "owns": "possession",
    "created": "creation", "costs": "price", "has_status": "status", "works_as": "role", "has_condition": "condition",
    "takes": "medicine", "diet": "diet", "age_is": "age", "has_version": "version", "has_pet": "pet",
}  # fmt: skip
"""The types of objects by their predicate. Others are what they are called."""
PERSONAL = frozenset(
    "works_at works_as lives_in from_place takes has_condition allergic_to diet age_is plays studies likes dislikes "
    "has_pet".split()
)
"""Predicates of people alone."""

HE, SHE = frozenset("he him his himself".split()), frozenset("she her hers herself".split())
IT, THEY = frozenset("it its itself this that there".split()), frozenset("they them their theirs".split())
PRONOUNS = HE | SHE | IT | THEY


def mention(text: str, type: str, start: int, end: int) -> Mention:
    """Return the entity that ``text[start:end]`` names."""
    return Mention(text[start:end], type, CATEGORIES[type], start, end)


MAX_CHUNK = 2000
"""Characters between white space that are read as one name. A longer chunk is data."""
MAX_MESSAGE = 200
"""Characters of an error's message."""

_WORD = r"[^\W\d]\w*"
_PIECE = lazy_re(r"`(?P<code>[^`\n]{1,200})`|(?P<chunk>[^\s`]++)")
_OPENING = "([{<\"'«“‘*"
_CLOSING = ".,;:!?\"'»”’*…>"
_MARKS = ".,;:!?\"'*"
_KNOWN = TOOLS | PACKAGES | ERRNO | FILE_NAMES
_PAIRS = {")": "(", "]": "[", "}": "{"}
_URL = lazy_re(r"(?:https?|wss?|ftp)://[^\s<>\"'`]{3,}")
_FLAG = lazy_re(r"(--[a-zA-Z][\w-]+)(?:=\S+)?")
_PIN = lazy_re(r"(?P<name>[A-Za-z][\w.-]*+)(?:\[[\w,-]*\])?(?P<how>==|[><~!]=|@)(?P<version>\d[\w.+!-]*)")
_AT = lazy_re(r"(?P<name>@[\w.-]+/[\w.-]+|[a-z][\w.-]*)@[\^~]?(?P<version>\d+(?:\.\d+)+(?:-[\w.]+)?)")
_SET = lazy_re(r"(?P<name>[A-Z][A-Z0-9_]{2,}|[a-z_]\w*(?:\.\w+)+)=(?P<value>[^\s=]\S*)")
_SHELL = lazy_re(r"\$\{?([A-Z][A-Z0-9]*_[A-Z0-9_]+|HOME|PATH|USER|SHELL|PWD)\}?")
_CONSTANT = lazy_re(r"_*[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]")
_FILE = lazy_re(
    rf"(?P<path>(?:[A-Za-z]:[\\/]|~/|\.{{0,2}}/)?(?:[\w@.+\[\]-]+[\\/])*[\w@.+\[\]-]*\w\]?\.{EXTENSIONS})"
    r"(?::\d+(?::\d+)?)?"
)
_DIRECTORY = lazy_re(
    r"(?:~|\.{1,2}|/(?:etc|usr|var|home|opt|tmp|srv|bin|lib))(?:/[\w@.+-]+)+/?"
    r"|[\w@.+-]{2,}(?:/[\w@.+-]+)+/|(?:src|tests?|docs?|lib|app|scripts?|examples?|migrations)/"
)
_ERROR = lazy_re(r"(?:\w+\.)*(?:[A-Z]\w*)?[a-zA-Z](?:Error|Exception)")
_CALL = lazy_re(rf"(?P<name>{_WORD}(?:\.{_WORD})*)\((?P<arguments>[^()]*)\)")
_DOTTED = lazy_re(rf"{_WORD}(?:\.{_WORD})+")
_SNAKE = lazy_re(r"[^\W_]\w*[^\W_]|_+[^\W\d_]\w+")
_CAMEL = lazy_re(r"(?:[A-Z]+[a-z0-9]+){2,}[A-Z]*|[A-Z]{2,}[a-z]+(?:[A-Z][a-z0-9]*)*")
_LOWER_CAMEL = lazy_re(r"[a-z]{2,}(?:[A-Z][a-z0-9]+)+")
_PLAIN = lazy_re(_WORD)
_CLASS = lazy_re(r"[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*")
_BUILTINS = frozenset(dir(builtins))
_TYPE_CUES = frozenset("schema struct dataclass enum".split())  # «a yoga class», «the business model»
_CODE_CUES = frozenset("function class module package variable".split())
_DOMAINS = frozenset("com org net io dev app ai co uk de fr eu".split())
_ADJACENT = 24


def named(text: str, start: int, end: int) -> list[Mention]:
    """Yield what ``text[start:end]`` names by its form, in order. Only a value and its setting overlap."""
    found = _outside(_found(text, start, end))
    dates = [mention(text, "date", *match.span()) for match in DATE.finditer(text, start, end)]
    if dates:
        found = sorted([*found, *dates], key=lambda item: item.start)
    return found


def cue(text: str, start: int, end: int) -> str | None:
    """Return the type that a neighbouring word says, such as function in «the function `load`», or ``None``."""
    after = re.match(r"[`\"']?\s([a-z]+)\b", text[end : end + _ADJACENT])
    before = re.search(r"\b([a-z]+)\s[`\"'$]?$", text[max(0, start - _ADJACENT) : start], re.IGNORECASE)
    for match in (after, before):
        if match and match[1].lower() in CUES:
            return CUES[match[1].lower()]
    return None


def _outside(found: Iterator[Mention]) -> list[Mention]:
    """Return the mentions without those inside an error's message."""
    kept: list[Mention] = []
    for one in found:
        if not (kept and kept[-1].type == "message" and one.start < kept[-1].end):
            kept.append(one)
    return kept


def _found(text: str, start: int, end: int) -> Iterator[Mention]:
    for piece in _PIECE.finditer(text, start, end):
        if piece["code"]:
            yield from _quoted(text, *piece.span("code"))
        elif piece.end() - piece.start() <= MAX_CHUNK and not _is_word(text, piece["chunk"], piece.end()):
            yield from _bare(text, *_trimmed(text, *piece.span("chunk")), end)


def _is_word(text: str, chunk: str, end: int) -> bool:
    """Return whether a chunk is an everyday word, as most are. This only saves time."""
    word = chunk.strip(_MARKS)
    if not word.isalpha() or word in _KNOWN or not word.isascii():
        return False
    return word.islower() or (word.istitle() and _followed(text, end) not in _TYPE_CUES)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a name without the punctuation around it; a bracket that it opens stays."""
    url = text.find("://", start, end)
    if url > start:
        scheme = re.search(r"(?:https?|wss?|ftp)$", text[start:url])
        start = start + scheme.start() if scheme else start
    while start < end and text[start] in _OPENING:
        start += 1
    body = text[start:end]
    if body.isalnum():
        return start, end
    spare = {closing: body.count(closing) - body.count(opening) for closing, opening in _PAIRS.items()}
    while end > start:
        last = text[end - 1]
        if spare.get(last, 0) > 0:
            spare[last] -= 1
        elif last not in _CLOSING:
            break
        end -= 1
    if body[end - start - 2 : end - start] in ("'s", "’s"):
        end -= 2
    return start, end


def _quoted(text: str, start: int, end: int) -> Iterator[Mention]:
    """Yield the mentions in backticks, which are code."""
    code = text[start:end]
    if code != code.strip():
        return
    called = _CALL.fullmatch(code)
    if called:
        yield from _called(text, start, called["name"])
    elif " " in code:
        yield from _raised(text, start, end) or installed(text, start, end)
    else:
        formed = _formed(text, start, end)
        if formed and formed[0].type == "file" and cue(text, start - 1, end + 1) in _CODE_CUES:
            formed = []  # «the module `reports.pdf`»
        yield from formed or _identifier(text, start, end)


def _called(text: str, start: int, name: str) -> Iterator[Mention]:
    """Yield what is called by ``name``, which begins at ``start``."""
    own = name.removeprefix("self.").removeprefix("cls.")
    start += len(name) - len(own)
    if _ERROR.fullmatch(own):
        yield mention(text, "error", start, start + len(own))
    elif own not in _BUILTINS:
        yield mention(text, "class" if _CLASS.fullmatch(own) else "function", start, start + len(own))


def _raised(text: str, start: int, end: int) -> list[Mention]:
    """Yield the error and its message in backticks."""
    type, colon, _ = text[start:end].partition(": ")
    if not colon or not _ERROR.fullmatch(type):
        return []
    middle = start + len(type)
    return [mention(text, "error", start, middle), mention(text, "message", middle + 2, end)]


def _identifier(text: str, start: int, end: int) -> Iterator[Mention]:
    name = text[start:end]
    said = cue(text, start - 1, end + 1)
    if name.lower() in LITERALS:
        return
    if _CAMEL.fullmatch(name) or (_PLAIN.fullmatch(name) and name[0].isupper() and not name.isupper()):
        yield mention(text, said or "class", start, end)
    elif said and re.fullmatch(r"[\w./-]+", name):
        yield mention(text, said, start, end)
    elif _DOTTED.fullmatch(name) or (_PLAIN.fullmatch(name) and not name.isupper() and len(name) > 1):
        yield mention(text, "symbol", start, end)


def _bare(text: str, start: int, end: int, limit: int) -> Iterator[Mention]:
    """Yield the names in running text, where most words are none."""
    found = _formed(text, start, end)
    if found:
        yield from found
        if found[0].type == "error" and text.startswith(": ", found[0].end):
            yield from _message(text, found[0].end + 2, limit)
        return
    name = text[start:end]
    called = _CALL.fullmatch(name)
    if called and not called["arguments"]:
        yield from _called(text, start, called["name"])
    elif _is_code(name):
        yield mention(text, cue(text, start, end) or "symbol", start, end)
    elif _CAMEL.fullmatch(name) or (name.istitle() and name.isalpha() and _followed(text, end) in _TYPE_CUES):
        said = cue(text, start, end)
        if said:
            yield mention(text, said, start, end)


def _is_code(name: str) -> bool:
    if ("_" in name and _SNAKE.fullmatch(name)) or (_LOWER_CAMEL.fullmatch(name) and not name.startswith("mc")):
        return True
    if not _DOTTED.fullmatch(name):
        return False
    parts = name.split(".")
    if parts[-1] in _DOMAINS or parts[0] == "www" or any(len(part) < 2 for part in parts):
        return False
    return "_" in name or len(parts) > 2


def _followed(text: str, end: int) -> str:
    match = re.match(r"\s(\w+)", text[end : end + _ADJACENT])
    return match[1] if match else ""


def _formed(text: str, start: int, end: int) -> list[Mention]:
    """Yield what is a name by its form anywhere: an address, a path, a version pin, a setting, an error."""
    name = text[start:end]
    if not name or name.isspace():
        return []
    known = "tool" if name in TOOLS else "package" if name in PACKAGES else "error" if name in ERRNO else None
    if known:
        return [mention(text, known, start, end)]
    if name.isalpha() and name.islower():
        return []
    if "://" in name:
        return [mention(text, "url", start, end)] if _URL.fullmatch(name) else _setting(text, start, end)
    pin = _AT.fullmatch(name) or _PIN.fullmatch(name)
    if pin:
        return _pinned(text, start, pin)
    if _ERROR.fullmatch(name):
        return [mention(text, "error", start, end)]
    path = _FILE.fullmatch(name)
    if path and name[:2] in ("a/", "b/") and text[max(0, start - 4) : start] in ("--- ", "+++ "):
        return [mention(text, "file", start + 2, start + path.end("path"))]  # the sides of a diff
    if path or name in FILE_NAMES:
        return [mention(text, "file", start, start + path.end("path") if path else end)]
    if _DIRECTORY.fullmatch(name):
        return [mention(text, "directory", start, end)]
    if _CONSTANT.fullmatch(name):
        return [mention(text, "variable", start, end)]
    return _setting(text, start, end)


def _setting(text: str, start: int, end: int) -> list[Mention]:
    name = text[start:end]
    shell, flag, assigned = _SHELL.fullmatch(name), _FLAG.fullmatch(name), _SET.fullmatch(name)
    if shell:
        return [mention(text, "variable", start + shell.start(1), start + shell.end(1))]
    if flag:
        return [mention(text, "config", start, start + flag.end(1))]
    if assigned:
        kind = "variable" if assigned["name"].isupper() else "config"
        return [
            mention(text, kind, start, start + assigned.end("name")),
            mention(text, "value", start + assigned.start("value"), start + assigned.end("value")),
        ]
    return []


def _pinned(text: str, start: int, pin: re.Match[str]) -> list[Mention]:
    found = [mention(text, "package", start + pin.start("name"), start + pin.end("name"))]
    if pin.groupdict().get("how", "==") == "==":
        found.append(mention(text, "version", start + pin.start("version"), start + pin.end("version")))
    elif pin["how"] == "@":
        return []
    return found


def _message(text: str, start: int, limit: int) -> Iterator[Mention]:
    end = text.find("\n", start, min(limit, start + MAX_MESSAGE))
    end = min(limit, start + MAX_MESSAGE) if end < 0 else end
    stop = re.search(r"[.!?](?:\s|$)|[`\"”»]", text[start:end])
    end = start + stop.start() if stop else end
    if text[start:end].strip():
        yield mention(text, "message", start, start + len(text[start:end].rstrip()))


_COMMAND = lazy_re(
    r"\b(?:pip3?|uv(?: pip)?|npm|pnpm|yarn|poetry|cargo|gem|conda|bun)\s(?:install|add|i)(?=\s)(?P<rest>[^\n|;&`]*)"
)
_NAME = lazy_re(r"(?P<name>@?[A-Za-z][\w./-]*)(?:\[[\w,-]*\])?(?:(?:==|@)[\^~]?(?P<version>\d[\w.+-]*)|[><~!]=.*)?")
_TAKES_VALUE = frozenset("-r -c -i -f -t -e -p --requirement --constraint --index-url --group --features".split())


def installed(text: str, start: int, end: int) -> Iterator[Mention]:
    """Yield the packages that the commands in ``text[start:end]`` install, each followed by its version, if pinned."""
    for command in _COMMAND.finditer(text, start, end):
        skipped = False
        for word in re.finditer(r"[^\s'\"]+", command["rest"]):
            name = _NAME.fullmatch(word[0])
            if name and not skipped and not word[0].endswith((".txt", "/")):
                offset = command.start("rest") + word.start()
                yield mention(text, "package", offset + name.start("name"), offset + name.end("name"))
                if name["version"]:
                    yield mention(text, "version", offset + name.start("version"), offset + name.end("version"))
            skipped = word[0] in _TAKES_VALUE
