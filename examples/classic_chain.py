"""A classic LangChain chain whose memory outlives it. Runs offline: the model is a stand-in."""

import tempfile
import warnings
from pathlib import Path

from langchain_classic.chains import ConversationChain
from langchain_core._api import LangChainDeprecationWarning
from langchain_core.language_models import FakeListChatModel

from langchain_tidal import TidalConversationMemory
from tidal_plugins import TidalMemory

warnings.simplefilter("ignore", LangChainDeprecationWarning)  # classic chains say that they are


def talk(path: Path, words: str, answer: str) -> None:
    with TidalMemory(path) as memory:  # opened anew, as another process would
        model = FakeListChatModel(responses=[answer])  # put your model here
        chain = ConversationChain(llm=model, memory=TidalConversationMemory(memory))
        result = chain.invoke(words)
        print(f"\nyou say:\n{words}\n\nthe chain adds:\n{result['history'] or '(nothing)'}")
        print(f"\nthe model answers:\n{result['response']}")


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "chain.db")
    talk(file, "I play jazz piano, and my left hand is lazy.", "Noted.")
    talk(file, "What should I practise on the piano?", "Stride bass lines, for that left hand.")
