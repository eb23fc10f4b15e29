"""The words that the rules know: types and their categories, tools, packages, file names, states."""

from __future__ import annotations

import re

from tidal_plugins.english.calendar import ANY_MONTH
from tidal_plugins.model.graph import Category, Mention
from tidal_plugins.patterns import lazy_re

CATEGORIES: dict[str, Category] = {
    **dict.fromkeys(
        "file directory function class module package tool variable config value version url error message "
        "symbol".split(),
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
CUE = rf"(?:{'|'.join(sorted(CUES, key=len, reverse=True))})"

STATES = (
    r"(?:up|down|open|closed|shut|on|off|enabled|disabled|active|inactive|online|offline|alive|dead|available|"
    r"unavailable|running|stopped|working|broken|valid|invalid|locked|unlocked|public|private|full|empty|connected|"
    r"disconnected|healthy|unhealthy|passing|failing|passed|failed|red|reachable|unreachable|deprecated|"
    r"obsolete|stable|unstable|flaky|frozen|merged|deployed|released|archived|ready|finished|done|blocked|paused|"
    r"overloaded|corrupted|read-only|mandatory|optional|approved|rejected|out of date|up to date)"
)

DATE = lazy_re(
    r"(?<![\w.-])(?P<iso>\d{4}-\d{2}-\d{2})(?![\w-])"
    rf"|(?<![\w.])(?P<d1>\d{{1,2}})(?:st|nd|rd|th)? (?P<m1>{ANY_MONTH})\.?,? (?P<y1>(?:19|20)\d\d)(?!\w)"
    rf"|(?<!\w)(?P<m2>{ANY_MONTH})\.? (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?, (?P<y2>(?:19|20)\d\d)(?!\w)",
    re.IGNORECASE,
)
"""A date that needs no other to be understood: «Tuesday» or «March 3» name none."""

PERIOD = rf"(?:(?:{ANY_MONTH})\.?,? )?(?:19|20)\d\d(?![\w-]|[.,:/]\d)"
"""A year, or a month of one: they say since when something is so, and are nothing to come back to."""


def mention(text: str, type: str, start: int, end: int) -> Mention:
    """Return the entity that ``text[start:end]`` names."""
    return Mention(text[start:end], type, CATEGORIES[type], start, end)
