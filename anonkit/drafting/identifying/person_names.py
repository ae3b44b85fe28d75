# SPDX-License-Identifier: Apache-2.0
"""Personal names: common given and family names of several languages, and the form of full names.

Modest lists: they do not know every name, only enough of them that a column of names is recognised by a part of its
cells. Words that are also months, places, plants or colours are left out.

User names: single words made of a person's name, or words that are hardly ever alike with a number behind them.

Strings that mention persons: a title with a name, or a given name of the list with another name after it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from anonkit.drafting.identifying.street_addresses import IdentifierKind, vocabulary

GIVEN_NAMES = vocabulary(
    """
    aaron abigail adam adrian agnes alan albert alejandro alex alexander alexandra alfred alice alicia allison
    amanda amelia amy ana andrea andreas andrew angela anita anja ann anna anne annette annie anthony antje
    anton antonio arthur astrid barbara bastian beatrice beatriz benedikt benjamin bernard bernd bernhard beth
    betty bianca birgit björn bjorn brandon brenda brian bridget bruce bruno caitlin carl carla carlos carmen
    carol caroline catherine cecilia charles charlie chiara chloe chris christa christian christiane christina
    christine christoph christopher claire clara claudia claudio clemens colin connor craig cristina cynthia
    dagmar daniel daniela danielle david deborah denise dennis derek diana diane dieter dirk dmitri dominik
    donald donna dorothea dorothy douglas edith eduard eduardo edward elena elisa elisabeth elizabeth ella ellen
    elsa emilia emily emma eric erica erik erika ernst esther ethan eugene eva evelyn fabian federico felicia
    felix fernando filip francesca francesco francis francisco franck frank franz fred frederic frederick frieda
    friedrich gabriel gabriela gabriele gary george gerald gerard gerda gerhard giovanni gisela gloria gordon
    greg gregory greta guillaume gunther günther gustav hanna hannah hans harald harold harry heike heinrich
    heinz helen helena helene helga helmut henri henry herbert hermann holger horst howard hugo ian ignacio ilse
    inge ingrid irene isabel isabella isabelle ivan jacob jacqueline jacques jakob james jan jane janet janine
    jason javier jean jeff jeffrey jennifer jens jeremy jerry jessica jill jim joachim joan joanna jochen joel
    johan johann johanna johannes john jonas jonathan jorge jörg joerg josé jose josef joseph josh joshua joyce
    juan judith julia julian juliane julie jürgen juergen justin jutta kai karen karin karl karla karsten
    katharina katherine kathleen kathrin kathryn katja keith kelly kenneth kerstin kevin kim kirsten klaus
    konrad kristen kristin kristina kurt kyle larry lars laura lauren laurent lea lena leo leon leonard leonie
    leslie liam lieselotte linda lisa logan lorenzo lothar louis louise luca lucas lucia lucy ludwig luis luisa
    lukas luke lydia magdalena manfred manuel manuela marc marcel marco marcos marcus margaret margarete maria
    maría marianne marie mario marion mark markus marlene marta martha martin martina mary mateo mathias
    mathilde matteo matthew matthias maurice max maximilian melanie melissa mia michael michaela michel michelle
    miguel mike miriam mohamed mohammad mohammed monica monika moritz muhammad nadine nancy natalia natalie
    natascha nathan nathalie nicholas nick nicola nicolas nicole niels nikolai nils nina noah nora norbert
    oliver olivia oscar oskar otto pablo pamela patricia patrick paul paula pauline pedro peter petra philip
    philipp philippe pierre pia rachel rafael rainer ralf ramona raul raúl rebecca regina reinhard renate
    ricardo richard rita robert roberto robin roger roland rolf roman ronald rosa roswitha roy rudolf russell
    ruth ryan sabine sabrina samantha samuel sandra sara sarah scott sean sebastian sergei sergio seth sharon
    shirley sigrid silke silvia simon simone sofia sonja sophia sophie stefan stefanie stefano stella stephan
    stephanie stephen steve steven stuart susan susanne sven svenja sylvia tanja tatjana teresa theodor theresa
    thomas tim timo tina tobias todd tom tony torsten tracy ulrich ulrike ursula ute uwe valentina valeria
    vanessa vera verena veronica veronika vicente victor vincent viktor volker walter waltraud wendy werner
    wilhelm william wolfgang yolanda yvonne zachary zoe

    agnieszka anastasia andrei andrzej aneta ania bartosz beata boris dariusz dorota elżbieta ewa galina
    grzegorz halina igor irina jakub janusz jerzy joanna katarzyna krystyna krzysztof ksenia ludmila łukasz
    lukasz maciej małgorzata marek mateusz mikhail michał natasha oksana oleg olga paweł piotr rafał stanisław
    svetlana sergey tadeusz tatiana tomasz vadim vladimir wojciech yuri zbigniew zofia

    annika arne axel bengt birgitte camilla eino emil erkki esa freja gunnar gudrun hanne harri henrik ida inger
    jari johanne jorma jukka jussi kari kirsi kjell knut lasse leif liisa linnea magnus maja mats mattias mette
    mikael mika mikko morten nanna olav olof pekka pirkko ragnar rasmus sanna signe sigurd solveig søren soren
    sven timo tore torbjörn trine tuomas ulla vesa viggo ville

    adriana alberto alessandra alessandro alfonso alonso álvaro alvaro andrés andres ángel angel antonella
    arturo beatrice caio camila catarina concepción cristiano diego dolores elisabetta emanuele emilio enrique
    esteban fabio fátima felipe francisca gabriella giacomo gianni giorgio giulia giuseppe gonçalo gonzalo
    gustavo inês jaime jesús joana joão joao joaquín joaquin josefa juana julio leonardo lourdes lucía luigi
    luiz manuela marcelo marisol martín massimo maurizio mauro mercedes mónica nicolás nuno óscar paolo paulo
    pilar rafaela raquel riccardo rocío rodrigo rosario rubén ruben salvatore santiago silvio simona susana
    thiago tiago tomás valentín ximena

    aditya ahmad ahmed aisha aki akira ali amir amit anil anita arjun aryan ayşe ayse deepak dilip emine fatima
    fatma farid farhad hamid haruto hasan hassan hiroshi hussein ibrahim imran jamal karim kavita kenji kenta
    khalid kiran krishna lakshmi layla leila mahmoud maryam mehmet mehdi mustafa naoko neha nikhil noor nour
    omar osman pooja prakash priya rahul raj rajesh rakesh ravi reza rohan rohit sakura salma sana sanjay
    sandeep satoshi shreya sita sunil sunita suresh takashi takeshi tariq usha vijay vikram vivek yamamoto
    yasmin youssef yousef yuki yuko yusuf zahra zainab

    chidi ngozi amara kwame abena kofi akosua yaw esi tunde yetunde folake olumide adebayo chinedu emeka ifeoma
    sizwe thandiwe themba nomvula sipho zanele wanjiru kamau achieng otieno juma amina fatou moussa aminata mamadou
    ibrahima ousmane awa mariam tesfaye abebe almaz selam siobhan niamh aoife oisin ciaran cormac fionn padraig eoin
    bronwen rhys dafydd gethin sian angharad wiremu aroha hemi tama mereana radek zdenka bohumil jitka ondrej ondřej
    jiří jana petra lenka tomáš václav jaroslav miroslav ladislav zuzana ivana milan dušan peter gábor lászló istván
    zoltán attila gergely balázs bence ádám ildikó zsófia réka eszter katalin erzsébet ágnes anikó csilla mihai ionut
    andrei cristian florin gheorghe ioana elena mihaela doina ruxandra lavinia sorin bogdan stoyan plamen georgi
    dimitar ivaylo desislava rositsa goran zoran dragan milos miloš nikola jovana milica vesna mirjana snezana zeljko
    marko luka ivo ante nebojša mārtiņš jānis kristaps ilze inese aivars tomas jonas mindaugas rasa eglė lina
    aleksi venla ilmari tuuli onni aatu juhani antti maria-liisa marjatta eirik sunniva torvald ragnhild halvard oddvar
    sigrun bjørn kristoffer astri elif zeynep hatice hüseyin ismail halil murat serkan burak merve özlem gül kemal
    dimitris giorgos yannis nikos kostas eleni katerina sofia-maria vasilis panagiotis christos δημήτριος γεωργία
    χρήστος βασίλης minh thuy phuong anh duc linh hoa trung huong tuan hung lan mai nam siti putri wayan budi dewi nur
    agus indah rizky sri eko rina yanti slamet jiho soojin minjun haeun seoyeon hyunwoo eunji jihye asuka daichi
    kaito hinata ren yuka naoki mariko manpreet harpreet gurpreet jaspreet baljit parvati venkatesh ananya ishaan
    deepika karthik meera lalita gopal farida zeynab rustam dilnoza gulnara timur parisa cyrus nasrin behnam shirin
    bohdan yaroslav oleksandr halyna nadezhda larysa taras andriy mykola iryna олександр наталія андрій микола тарас

    александр алексей анастасия андрей анна антон владимир дарья дмитрий евгений екатерина елена иван игорь
    ирина ксения людмила максим мария михаил наталья николай оксана олег ольга павел светлана сергей татьяна
    юлия юрий γιώργος γιάννης δημήτρης ελένη κατερίνα κωνσταντίνος μαρία νίκος παναγιώτης
    """
)

FAMILY_NAMES = vocabulary(
    """
    smith jones williams johnson miller davis wilson anderson taylor thomas moore martin jackson thompson harris clark
    lewis robinson walker allen wright scott nguyen adams nelson baker campbell mitchell roberts carter phillips evans
    turner parker collins edwards stewart morris murphy cook rogers morgan cooper peterson reed bailey kelly howard ward
    cox richardson watson brooks bennett gray hughes price myers foster sanders ross powell sullivan russell fisher
    henderson patterson reynolds hamilton graham griffin wallace davies o'brien o'neill o'connor byrne ryan walsh
    macdonald mackenzie fraser

    müller mueller schmidt schneider fischer weber meyer meier maier wagner becker schulz hoffmann schäfer koch bauer
    richter klein wolf schröder neumann schwarz zimmermann braun krüger hofmann hartmann lange schmitt werner krause
    lehmann köhler herrmann könig walter mayer huber kaiser fuchs peters lang scholz möller weiß jung hahn schubert
    vogel friedrich keller günther berger winkler roth beck lorenz baumann franke albrecht schuster simon ludwig
    böhm winter kraus schumacher krämer vogt stein jäger otto sommer seidel heinrich brandt haas schreiber graf
    dietrich ziegler kuhn pohl engel horn busch bergmann voigt sauer arnold wolff pfeiffer gruber steiner pichler
    egger moser

    garcía garcia rodríguez rodriguez gonzález gonzalez fernández fernandez lópez lopez martínez martinez sánchez
    sanchez pérez perez gómez gomez jiménez jimenez ruiz hernández hernandez díaz diaz moreno muñoz álvarez alvarez
    romero alonso gutiérrez gutierrez navarro torres domínguez vázquez vazquez ramos gil ramírez ramirez serrano
    blanco molina morales suárez ortega delgado castro ortiz rubio marín sanz núñez iglesias medina garrido cortés
    castillo flores silva santos oliveira souza sousa pereira costa ferreira rodrigues almeida nascimento lima
    araújo fernandes carvalho gomes ribeiro martins barbosa rocha dias teixeira

    rossi russo ferrari esposito bianchi romano colombo ricci marino greco bruno gallo conti mancini giordano rizzo
    lombardi moretti barbieri fontana santoro mariani rinaldi caruso ferrara galli martini leone longo gentile
    bernard dubois durand moreau laurent lefebvre leroy roux petit fournier girard bonnet dupont lambert fontaine
    rousseau vincent faure mercier blanc guérin boyer garnier chevalier françois legrand gauthier perrin robin

    jansen devries vandenberg bakker visser smit meijer mulder bos vos hendriks dekker brouwer dijkstra peeters janssens
    maes jacobs willems claes goossens wouters hansen johansen olsen larsen andersen pedersen nilsen kristiansen jensen
    karlsen johnsen nielsen christensen rasmussen jørgensen petersen madsen johansson andersson karlsson nilsson
    eriksson larsson olsson persson svensson gustafsson korhonen virtanen mäkinen nieminen mäkelä hämäläinen laine

    nowak kowalski wiśniewski wójcik kowalczyk kamiński lewandowski zieliński szymański woźniak kozłowski mazur novák
    svoboda novotný dvořák černý nagy kovács tóth szabó horváth varga kiss molnár popa popescu ionescu ivanov petrov
    sidorov smirnov kuznetsov popov vasiliev sokolov mikhailov fedorov morozov volkov kovalenko shevchenko bondarenko
    horvat jovanović petrović nikolić marković papadopoulos yılmaz kaya demir çelik şahin yıldız öztürk aydın özdemir

    singh kumar sharma patel gupta shah khan ali ahmed hussain malik iqbal chowdhury das reddy rao nair iyer kaur gill
    chopra mehta joshi wang li zhang liu chen yang huang zhao wu zhou xu sun ma zhu hu lin guo tran pham hoang phan vu
    dang bui kim lee park choi jung kang cho yoon jang lim tanaka suzuki sato takahashi watanabe ito yamamoto nakamura
    kobayashi kato okafor adeyemi mensah owusu dlamini nkosi mohamed abdullah haddad cohen levy mizrahi
    """
)
_FAMILY_ENDINGS = (
    *("mann", "sson", "sson", "ssen", "dsen", "nsen", "rsen", "wicz", "owicz", "vich", "vić", "ović", "ević", "ovic"),
    *(
        "owski",
        "ewski",
        "ński",
        "nski",
        "cki",
        "enko",
        "chuk",
        "czyk",
        "shvili",
        "adze",
        "oğlu",
        "oglu",
        "escu",
        "eanu",
    ),
    *("poulos", "akis", "idis", "opoulou", "nen", "kova", "nova", "rova", "lova", "ková", "nová", "quist", "ström"),
    *("stra", "sma", "ucci", "etti", "ezzi", "ández", "andez", "ínez", "inez", "énez", "érez", "erez", "guez", "zález"),
    *(
        "zalez",
        "yan",
        "ian",
        "zadeh",
        "kov",
        "nov",
        "rov",
        "lov",
        "iev",
        "yev",
        "бов",
        "ров",
        "нов",
        "ков",
        "енко",
        "ский",
    ),
)

_CHINESE_SURNAMES = (
    "王李张劉刘陈陳杨楊赵趙黄黃周吴吳徐孙孫胡朱高林何郭马馬罗羅梁宋郑鄭谢謝韩韓唐冯馮于董萧蕭程曹袁邓鄧许"
    "許傅沈曾彭吕呂苏蘇卢盧蒋蔣蔡贾賈丁魏薛叶葉阎余潘杜戴夏钟鍾汪田任姜范方石姚谭譚廖邹鄒熊金陆陸郝孔白崔康毛邱秦江史顾顧侯邵孟龙龍万萬段雷钱錢汤湯尹黎易常武乔喬贺賀赖賴龚龔文"
)
_JAPANESE_SURNAMES = (
    "佐藤|鈴木|高橋|田中|伊藤|渡辺|渡邊|山本|中村|小林|加藤|吉田|山田|佐々木|山口|松本|井上"
    "|木村|斎藤|清水|山崎|池田|橋本|阿部|石川|前田|藤田|小川|後藤|岡田|長谷川|村上|近藤|石井"
)
_KOREAN_SURNAMES = "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진지"
_CHINESE = re.compile(f"[{_CHINESE_SURNAMES}][\u3400-\u9fff]{{1,2}}")
_JAPANESE = re.compile(f"({_JAPANESE_SURNAMES})[ \u3000]?[\u3040-\u30ff\u3400-\u9fff]{{1,4}}")
_KOREAN = re.compile(f"[{_KOREAN_SURNAMES}][\uac00-\ud7a3]{{2}}")

_WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*\.?")
_FULL_NAME = re.compile(r"[^\W\d_]+(?:[\s,.'’\-]+[^\W\d_]+\.?){1,5}")
_INITIALS = re.compile(
    r"(?:[^\W\d_a-z]\.[ \-]?){1,3}(?P<last>[^\W\d_]{2,}(?:['’\- ][^\W\d_]+){0,3})"  # J. R. Smith
    r"|(?P<first>[^\W\d_]{2,}(?:['’\- ][^\W\d_]+){0,3})(?:, ?| (?=[^\W\d_]\.))"  # Smith, J. R.
    r"(?:[^\W\d_a-z]\.?[ \-]?){1,3}"
)
_TITLES = vocabulary("mr mrs ms miss dr prof herr frau sr sra srta don doña mme mlle m sir madame monsieur dhr mevr")
_PARTICLES = vocabulary(
    "van von de der den del della di da dos das do du la le los las ten ter zu zum zur af av el al bin ibn y e"
)
_OF_NO_PERSON = vocabulary(
    "school college university academy institute gymnasium lycée lycee schule grundschule elementary high hospital "
    "clinic klinik krankenhaus centre center church station airport park bridge street road avenue square hotel museum "
    "library theatre inc ltd llc plc gmbh ag kg se sa sl srl spa bv nv oy ab co corp corporation company group holding "
    "brothers bros sons söhne verlag bank motors logistics transport bakery foods team club united city town county "
    "district ad ood eood doo oü as sia uab kft zrt srl sro pty lane drive avenue boulevard crescent court terrace way "
    "hill rue via calle plaza avenida straße platz weg allee saint st san santa new north south east west disease "
    "syndrome lymphoma and und et &"
)
"""Words beside names in the names of schools, firms, places and diseases."""

_MOST_LETTERS = 60
_SINGLE_SHARE = 0.6
_SINGLE_VALUES = 5
_FULL_SHARE = 0.3
_FULL_SHAPE = 0.8
_FULL_VALUES = 8
_EAST_ASIAN_SHARE = 0.8
_OF_NO_PERSON_SHARE = 0.25
_SIGN_VALUES = 20
_GIVEN_SIGN = 0.05
_FAMILY_SIGN = 0.15
_SIGNS = 5
"""Names of the lists, at least: one or two among a few dozen products are chance."""
_DIFFERENT_SIGN = 0.9
_DIFFERENT_VALUES = 50
_FAMILY_ALONE = 0.5


def kind_of_names(texts: Sequence[str], *, named: bool = False) -> IdentifierKind | None:
    """Return the part of a person's name that distinct strings are; None when they are no names.

    Parameters
    ----------
    texts : sequence of str
        Distinct cells of a column, without blanks at the ends.
    named : bool
        Whether the name of the column says that they are names of persons.

    Returns
    -------
    Kind | None
        Given names when most are single words of the list, family names when half are single words of theirs. Full
        names when most are two to six words without a digit, a good part of which begin with a given name (or have it
        behind a comma), or when most are Chinese, Japanese or Korean names by their family names. Full names, too, when
        nearly all are two to five words with a capital each, and there is a second sign: the name of the column, a
        given name in 5 % of them, a family name in 15 %, initials in most, or last words that are nearly all different.
    """
    if len(texts) < _SINGLE_VALUES:
        return None
    short = [text for text in texts if len(text) <= _MOST_LETTERS]
    if len(texts) >= _FULL_VALUES:
        east_asian = sum(
            bool(_CHINESE.fullmatch(text) or _JAPANESE.fullmatch(text) or _KOREAN.fullmatch(text)) for text in short
        )
        if east_asian >= _EAST_ASIAN_SHARE * len(texts):
            return IdentifierKind.PERSON_NAME
    words = [text.lower().replace(",", " ").replace(".", " ").split() for text in short]
    if sum(not _OF_NO_PERSON.isdisjoint(each) for each in words) >= _OF_NO_PERSON_SHARE * len(texts):
        return None
    single = sum(bool(_WORD.fullmatch(text)) and is_given(text) for text in short)
    if single >= _SINGLE_SHARE * len(texts):
        return IdentifierKind.GIVEN_NAME
    full = [text for text in short if _FULL_NAME.fullmatch(text)]
    known = sum(_begins_with_given(text) for text in full)
    mixed = single + known >= _SINGLE_SHARE * len(texts)
    most = mixed or (len(full) >= _FULL_SHAPE * len(texts) and known >= _FULL_SHARE * len(texts))
    if len(texts) >= _FULL_VALUES and (most or _have_a_second_sign(texts, short, named=named)):
        return IdentifierKind.PERSON_NAME
    families = sum(len(each) == 1 and each[0] in FAMILY_NAMES for each in words)
    return IdentifierKind.FAMILY_NAME if len(texts) >= _SIGN_VALUES and families >= _FAMILY_ALONE * len(texts) else None


def _have_a_second_sign(texts: Sequence[str], short: Sequence[str], *, named: bool) -> bool:
    """Return True if strings have the shape of full names, and something else says that they are."""
    initials = [found for text in short if (found := _INITIALS.fullmatch(text)) and _is_capital(found)]
    shaped = [words for text in short if (words := _capital_words(text)) is not None]
    if len(initials) + len(shaped) < _FULL_SHAPE * len(texts):
        return False
    if named:
        return True
    if len(texts) < _SIGN_VALUES:
        return False
    given = sum(any(map(is_given, words)) for words in shaped)
    family = sum(any(word.lower() in FAMILY_NAMES or has_family_ending(word) for word in words) for words in shaped)
    if given >= max(_SIGNS, _GIVEN_SIGN * len(texts)) or family >= max(_SIGNS, _FAMILY_SIGN * len(texts)):
        return True
    if len(initials) >= _FULL_SHAPE * len(texts):
        return True
    last = {words[-1] for words in shaped}
    return len(texts) >= _DIFFERENT_VALUES and len(last) >= _DIFFERENT_SIGN * len(texts)


def _is_capital(found: re.Match[str]) -> bool:
    return (found["last"] or found["first"])[0].isupper()


def _capital_words(text: str) -> list[str] | None:
    """Return the words of a full name, two to five with a capital each; None when they are none."""
    words = [word.strip(",.") for word in text.replace(",", ", ").split()]
    names = [word for word in words if word.lower() not in _PARTICLES and word.lower() not in _TITLES]
    whole = [word for word in names if len(word) > 1]
    shaped = all(word and word[0].isupper() and _WORD.fullmatch(word) for word in names)
    return names if shaped and len(whole) >= 2 and len(words) <= 6 and len(names) <= 5 else None


def has_family_ending(word: str) -> bool:
    """Return True if a word ends as many family names do, such as -mann, -owski, -ssen."""
    return len(word) >= 6 and word.lower().endswith(_FAMILY_ENDINGS)


def is_given(word: str) -> bool:
    """Return True if a word is a given name of the list."""
    return word.rstrip(".").split("-")[0].lower() in GIVEN_NAMES


def _begins_with_given(text: str) -> bool:
    family, comma, given = text.partition(",")
    words = _WORD.findall(given if comma else family)
    while words and words[0].rstrip(".").lower() in _TITLES:
        words.pop(0)
    return bool(words) and is_given(words[0])


_USER = re.compile(r"@?[^\W\d_][\w.\-]{2,29}")
_PARTS = re.compile(r"[^\W\d_]+")
_NUMBERED = re.compile(r"([^\W\d_]{4,}(?:[._-][^\W\d_]+)?)[._-]?\d{1,4}")
_SHAPE = 0.9
_VALUES = 20
_NAMED = 0.2
_HANDLES = 0.8
_INVENTED_VALUES = 40
_NUMBERED_SHARE = 0.5
_DIFFERENT_WORDS = 0.2
"""Different words before the number, a value: codes of things begin with one of a few."""
_SHORTEST_NAME = 4
_MOST_EXTENSIONS = 20


def are_user_names(texts: Sequence[str]) -> bool:
    """Return True if distinct strings are user names.

    Nearly all are one word of letters and digits, mostly in lower case; and at least one in five is made of a name
    (with an initial, a number or another word beside it), or half of them are words with a number behind them and the
    words are hardly ever alike, or nearly all begin with an at sign.
    """
    users = [text for text in texts if len(text) <= 31 and _USER.fullmatch(text)]
    if len(users) < max(_VALUES, _SHAPE * len(texts)):
        return False
    if sum(user.startswith("@") for user in users) >= _HANDLES * len(users):
        return True
    if sum(user == user.lower() for user in users) < _SHAPE * len(users) or _have_extensions(users):
        return False
    if sum(map(_is_made_of_a_name, users)) >= _NAMED * len(users):
        return True
    words = [found[1] for user in users if (found := _NUMBERED.fullmatch(user))]
    return (
        len(users) >= _INVENTED_VALUES
        and len(words) >= _NUMBERED_SHARE * len(users)
        and len(set(words)) >= max(_VALUES, _DIFFERENT_WORDS * len(words))
    )


def _have_extensions(users: Sequence[str]) -> bool:
    """Return True if names are those of files or domains, which end in one of a few words after a point."""
    ends = [user.rpartition(".")[2] for user in users if "." in user]
    return len(ends) >= _SHAPE * len(users) and len(set(ends)) <= _MOST_EXTENSIONS


def _is_made_of_a_name(user: str) -> bool:
    """Return True if a user name has a name and something beside it: a word, a number, an initial, or a rest."""
    parts = _PARTS.findall(user)
    beside = len(parts) > 1 or len(parts[0]) < len(user)
    if beside and any(len(part) >= _SHORTEST_NAME and _is_name(part) for part in parts):
        return True
    word = parts[0]
    return (len(word) > _SHORTEST_NAME and word[1:] in FAMILY_NAMES) or any(
        _is_name(word[:at]) or _is_name(word[at:]) for at in range(_SHORTEST_NAME, len(word) - _SHORTEST_NAME + 1)
    )


def _is_name(word: str) -> bool:
    return word in GIVEN_NAMES or word in FAMILY_NAMES


_TITLED = re.compile(
    r"\b(?:mr|mrs|ms|miss|dr|prof|frau|herrn?|fräulein|familie|madame|monsieur|mme|mlle|señora?|sra?|don|doña|signora?|"
    r"sig|senhora?|mevrouw|mevr|dhr|fru|pan|pani)\b\.?,? ([^\W\d_]{2,})",
    re.IGNORECASE,
)
_CAPITALISED = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
_MENTIONED_SHARE = 0.2
_TEXT_VALUES = 20
_TEXT_WORDS = 4
_TEXT_LETTERS = 2_000


def mention_persons(texts: Sequence[str]) -> bool:
    """Return True if distinct strings have several words each, and one in five mentions a person."""
    if len(texts) < _TEXT_VALUES or sum(text.count(" ") for text in texts) < (_TEXT_WORDS - 1) * len(texts):
        return False
    return sum(map(_mentions, texts)) >= _MENTIONED_SHARE * len(texts)


def _mentions(text: str) -> bool:
    short = text[:_TEXT_LETTERS]
    if any(found[1][0].isupper() for found in _TITLED.finditer(short)):
        return True
    words = [found for found in _CAPITALISED.finditer(short) if found[0][0].isupper()]
    return any(is_given(first[0]) and second.start() - first.end() == 1 for first, second in pairwise(words))
