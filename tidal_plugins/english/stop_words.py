"""List the words that say too little to search by."""

from __future__ import annotations

STOP_WORDS = frozenset(
    # articles, pronouns, determiners
    "a an the i me my mine myself we our ours ourselves you your yours yourself yourselves he him his himself she her "
    "hers herself it its itself they them their theirs themselves this that these those one some any each every other "
    "another such own same both all few more most much many "
    # question words and connectives
    "who whom whose which what when where why how and or but if because as until while than so though although "
    "whether since unless "
    # prepositions and particles
    "of at by for with about against between into through during before after above below to from up down in out on "
    "off over under upon again further once then here there also just only very too even still yet ever now "
    # auxiliaries
    "am is are was were be been being have has had having do does did doing done can could will would shall should "
    "might must ought let get got "
    # negations
    "no nor not none never neither "
    # what contractions leave behind, and contractions that are typed without the apostrophe
    "s t ll ve re didn doesn isn aren wasn weren hasn haven hadn couldn shouldn wouldn mustn needn ain "
    "im ive dont didnt doesnt isnt arent wasnt werent cant couldnt wouldnt shouldnt havent hasnt wont youre "
    "theyre thats".split()
)
"""Lower-case words that no search needs. «don», «won», «may» and «us» are also names or nouns and are not listed."""

PLEASANTRIES = frozenset(
    "yes yeah yep nope ok okay sure thanks thank great good nice cool fine right well please sorry welcome hello "
    "hi hey bye wow haha thx cheers agreed perfect awesome goodbye "
    # other languages in Latin letters
    "danke super gut gerne merci gracias vale bien bueno perfecto obrigado obrigada grazie bene dank bedankt goed tack "
    "takk tak kiitos dzięki dziękuję dobrze děkuji hvala köszönöm teşekkürler mulțumesc".split()
)
"""Words of greetings, thanks and assent."""
